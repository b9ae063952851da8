#include "assay/explain/replaced_cells.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::explain {
namespace {

constexpr index_t numbers_per_chunk = 1 << 16, fewest_rows = 16, most_rows = 512;

struct Node {
    double threshold;
    std::int32_t feature, left, right, missing_left;
    std::int64_t words;  // first word of a nominal test, or -1
};

ASSAY_INLINE void add_to_all_body(double value, double* sums, index_t count) {
    for (index_t q = 0; q < count; ++q) sums[q] += value;
}
ASSAY_DISPATCH(void, add_to_all, add_to_all_body, (double value, double* sums, index_t count), (value, sums, count))

class Replacer {
public:
    Replacer(const trees::ForestView& forest, const Replacements& what) : f_(forest), what_(what), nodes_(static_cast<std::size_t>(f_.offsets[f_.n_trees()])) {
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            nodes_[i] = {f_.threshold[i], f_.feature[i], f_.left[i], f_.right[i], f_.missing_left[i], f_.categories[i]};
    }

    void run(double* out) const {
        const index_t questions = what_.groups * what_.alternatives, n = what_.cells.rows, width = f_.width, slots = what_.outputs / width;
        const index_t grain = std::clamp(numbers_per_chunk / std::max<index_t>(1, questions * what_.outputs), fewest_rows, most_rows);
        parallel_chunks(n, grain, what_.threads, [&](index_t, index_t begin, index_t end) {
            std::vector<double> sums(static_cast<std::size_t>((end - begin) * what_.outputs * questions), 0.0);
            Walker walker(*this);
            for (index_t t = 0; t < f_.n_trees(); ++t)
                for (index_t i = begin; i < end; ++i) {
                    const std::int32_t leaf = walker.walk(t, i);
                    const double* value = f_.value + f_.offsets[t] * width;
                    for (index_t c = 0; c < width; ++c) {
                        double* to = sums.data() + ((i - begin) * what_.outputs + (t % slots) * width + c) * questions;
                        for (auto& one : walker.left) one.before = to[one.question];
                        add_to_all(value[leaf * width + c], to, questions);
                        for (const auto& one : walker.left) to[one.question] = one.before + value[one.leaf * width + c];
                    }
                }
            for (index_t q = 0; q < questions; ++q)
                for (index_t i = begin; i < end; ++i)
                    for (index_t o = 0; o < what_.outputs; ++o)
                        out[(q * n + i) * what_.outputs + o] = sums[static_cast<std::size_t>(((i - begin) * what_.outputs + o) * questions + q)];
        });
    }

private:
    bool goes_left(const Node& node, double cell) const {
        if (node.words >= 0) {
            if (!(cell >= 0 && cell < f_.n_categories[node.feature])) return node.missing_left != 0;
            const auto c = static_cast<std::int64_t>(cell);
            return (f_.words[node.words + c / 64] >> (c % 64) & 1) != 0;
        }
        return cell <= node.threshold || (node.missing_left != 0 && std::isnan(cell));
    }

    // One row in one tree: its leaf, and the alternatives that leave its path.
    struct Walker {
        struct Left {
            index_t question;
            std::int32_t leaf;
            double before;
        };
        const Replacer& of;
        std::vector<Left> left;
        std::vector<std::int64_t> met;       // by group: the last walk that met it
        std::vector<std::uint8_t> on_path;   // by question
        std::int64_t walks = 0;

        explicit Walker(const Replacer& owner)
            : of(owner), met(static_cast<std::size_t>(owner.what_.groups), 0),
              on_path(static_cast<std::size_t>(owner.what_.groups * owner.what_.alternatives), 1) {}

        std::int32_t walk(index_t tree, index_t i) {
            const Replacements& what = of.what_;
            const Node* nodes = of.nodes_.data() + of.f_.offsets[tree];
            const double* row = what.cells.row(i);
            const index_t donor_column = what.donors.cols == 1 ? 0 : i, k_end = what.alternatives;
            left.clear();
            ++walks;
            std::int32_t at = 0;
            while (nodes[at].feature >= 0) {
                const Node& node = nodes[at];
                const bool own = of.goes_left(node, row[node.feature]);
                const std::int32_t group = what.group[node.feature];
                if (group >= 0) {
                    std::uint8_t* follows = on_path.data() + group * k_end;
                    if (met[static_cast<std::size_t>(group)] != walks) {
                        met[static_cast<std::size_t>(group)] = walks;
                        std::fill_n(follows, k_end, std::uint8_t{1});
                    }
                    const std::int32_t other = own ? node.right : node.left;
                    for (index_t k = 0; k < k_end; ++k) {
                        if (follows[k] == 0) continue;
                        const double* donor = what.source.row(what.donors(group * k_end + k, donor_column));
                        if (of.goes_left(node, donor[node.feature]) == own) continue;
                        follows[k] = 0;
                        left.push_back({group * k_end + k, walk_on(nodes, other, group, row, donor), 0.0});
                    }
                }
                at = own ? node.left : node.right;
            }
            return at;
        }

        std::int32_t walk_on(const Node* nodes, std::int32_t at, std::int32_t group, const double* row, const double* donor) const {
            while (nodes[at].feature >= 0) {
                const Node& node = nodes[at];
                const double cell = of.what_.group[node.feature] == group ? donor[node.feature] : row[node.feature];
                at = of.goes_left(node, cell) ? node.left : node.right;
            }
            return at;
        }
    };

    const trees::ForestView& f_;
    const Replacements& what_;
    std::vector<Node> nodes_;
};

}  // namespace

void replaced_sums(const trees::ForestView& forest, const Replacements& what, double* sums) { Replacer(forest, what).run(sums); }

}  // namespace assay::explain
