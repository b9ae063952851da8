// What a search of a tree is for: the nearest rows, or the number or list of those within a radius. `reach` is how far
// rows still matter, `wants` whether a row at a distance does.
#pragma once

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

struct KeepNearest {
    Nearest best;
    explicit KeepNearest(index_t k) : best(k) {}
    void clear() { best.clear(); }
    void write(std::int64_t* rows, double* distances) const { best.write(rows, distances); }
    double reach() const { return best.bound(); }
    bool wants(double distance, std::int64_t row) const { return best.wants(distance, row); }
    void offer(double distance, std::int64_t row) { best.offer(distance, row); }
};

struct Tally {
    double radius;
    std::int64_t count = 0;
    double reach() const { return radius; }
    bool wants(double distance, std::int64_t) const { return distance <= radius; }
    void offer(double, std::int64_t) { ++count; }
};

struct Gather {
    double radius;
    index_t query;
    RadiusCollector& collector;
    double reach() const { return radius; }
    bool wants(double distance, std::int64_t) const { return distance <= radius; }
    void offer(double distance, std::int64_t row) { collector.add(query, distance, row); }
};

}  // namespace assay::neighbours
