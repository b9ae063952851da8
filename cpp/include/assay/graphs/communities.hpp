// Communities of a graph by modularity. For a symmetric weighted graph with degrees k_i, total weight 2m = sum k_i and
// resolution g,
//     Q = (1 / 2m) sum_ij [A_ij - g k_i k_j / 2m] [c_i = c_j].
//
// Louvain (Blondel et al., J. Stat. Mech. P10008, 2008): nodes move to the neighbouring community that raises Q most; then
// communities become nodes, and again. Moving node i (taken out of its own community) into c changes m Q by
//     w(i, c) - g k_i K_c / 2m,      K_c the sum of the degrees in c.
// A node waits in a queue until it is looked at; then its slack is known, what it would lose by its best other move. A
// neighbour that moves takes at most the weight of the edge from it (or adds it, if it came to the node's community), and the
// node waits again when its slack is used up (pruning). Of equal gains the community a node is in wins, then the one met first.
// Leiden (Traag, Waltman & van Eck, Sci. Rep. 9, 5233, 2019): before nodes are made of communities, each community is cut
// into parts that hang together well: starting from single nodes, a node that is still alone and well connected to its community
// joins the part with the largest gain; parts become nodes, and the communities their first partition. No community
// can be disconnected.
//
// The order of nodes is drawn from the seed. Nodes move one after the other; communities are refined, and become nodes, side
// by side, each by itself, so the result is the same for any number of threads. Shapes: a CSR matrix with both
// directions of each edge (a loop is stored once and counts its weight in the degree once). OUT labels n, numbered by their
// first node. Cost O(edges) for each of a few passes per level, 8 bytes per stored edge (16 unless weights are whole).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::graphs {

struct Csr {
    index_t n = 0;
    const std::int64_t* start = nullptr;
    const std::int32_t* to = nullptr;
    const double* weight = nullptr;
};

struct CommunityOptions {
    double resolution = 1.0;
    bool refine = false;     // Leiden
    index_t rounds = 10;     // of the whole, each from the result of the one before; ends when nothing moves
    std::uint64_t key = 0;
    int threads = 1;
};

// Returns the modularity after each level.
std::vector<double> communities(const Csr& graph, const CommunityOptions& options, std::int32_t* labels);

// Whether the matrix is that of a graph as it should be: targets of a node rise, no loops, weights positive and finite, both
// directions of an edge alike (to 1e-12 of the largest weight). One pass: while nodes come in order, the next edge of a
// neighbour that has not been seen must lead back.
bool is_plain_graph(const Csr& graph);

double modularity(const Csr& graph, const std::int32_t* labels, double resolution);

}  // namespace assay::graphs
