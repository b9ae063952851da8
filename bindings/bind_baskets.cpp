// Baskets: frequent itemsets, and the numbering of items that arrive as objects of Python.
#include <array>

#include "assay/baskets/itemsets.hpp"
#include "assay/baskets/rules.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

void check_lists(const char* who, const Array1<const std::int64_t>& offsets, const Array1<const std::int32_t>& items,
                 std::int64_t n_items) {
    const std::size_t n = offsets.shape(0);
    require(n >= 1 && offsets.data()[0] == 0 && offsets.data()[n - 1] == static_cast<std::int64_t>(items.shape(0)), who,
            "offsets must run from 0 to the number of items");
    for (std::size_t b = 1; b < n; ++b) require(offsets.data()[b] >= offsets.data()[b - 1], who, "offsets must not fall");
    for (std::size_t p = 0; p < items.shape(0); ++p)
        require(items.data()[p] >= 0 && items.data()[p] < n_items, who, "items must be ids below n_items");
}

// Numbers for objects by equality, in order of first appearance. Objects that were seen lately are known by their place in
// memory, without asking them for their hash: they must stay alive while this does.
class Numbering {
public:
    std::int32_t of(PyObject* object) {
        auto& slot = lately_[(reinterpret_cast<std::uintptr_t>(object) >> 4) * 0x9E3779B97F4A7C15ULL >> 52];
        if (slot.object == object) return slot.number;
        PyObject* const known = PyDict_GetItemWithError(numbers_.ptr(), object);
        if (known == nullptr && PyErr_Occurred()) throw nb::python_error();
        std::int32_t number = 0;
        if (known != nullptr) {
            number = static_cast<std::int32_t>(PyLong_AsLong(known));
        } else {
            require(labels.size() < 0x7FFFFFFF, "number_items", "there are too many different items");
            number = static_cast<std::int32_t>(labels.size());
            labels.append(nb::handle(object));
            const nb::object held = nb::steal(PyLong_FromLong(number));
            if (PyDict_SetItem(numbers_.ptr(), object, held.ptr()) != 0) throw nb::python_error();
        }
        slot = {object, number};
        return number;
    }
    nb::list labels;

private:
    struct Slot {
        PyObject* object = nullptr;
        std::int32_t number = 0;
    };
    nb::dict numbers_;
    std::array<Slot, 4096> lately_{};
};

nb::tuple number_items(const nb::list& baskets, bool distinct) {
    Numbering numbering;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> ids;
    std::vector<std::int64_t> last;  // the basket that an item was seen in last, plus 1
    const std::size_t n = baskets.size();
    offsets.reserve(n + 1);
    for (std::size_t b = 0; b < n; ++b) {
        const nb::object basket = nb::steal(PySequence_Fast(nb::handle(baskets[b]).ptr(), "a basket must be a list"));
        if (!basket.is_valid()) throw nb::python_error();
        for (Py_ssize_t p = 0; p < PySequence_Fast_GET_SIZE(basket.ptr()); ++p) {
            const std::int32_t id = numbering.of(PySequence_Fast_GET_ITEM(basket.ptr(), p));
            if (static_cast<std::size_t>(id) >= last.size()) last.resize(static_cast<std::size_t>(id) + 1, 0);
            std::int64_t& seen = last[static_cast<std::size_t>(id)];
            if (distinct && seen == static_cast<std::int64_t>(b) + 1) continue;
            seen = static_cast<std::int64_t>(b) + 1;
            ids.push_back(id);
        }
        offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    return nb::make_tuple(own(std::move(offsets)), own(std::move(ids)), numbering.labels);
}

// The collector of cycles would walk over all pairs again and again while they are made, and they can have no cycle.
struct WithoutCollector {
    const int was = PyGC_Disable();
    WithoutCollector() = default;
    WithoutCollector(const WithoutCollector&) = delete;
    WithoutCollector& operator=(const WithoutCollector&) = delete;
    ~WithoutCollector() {
        if (was != 0) PyGC_Enable();
    }
};

// The labels of one set.
nb::object labels_of(const std::int32_t* items, std::int64_t size, const nb::list& labels) {
    nb::object held = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(size)));
    if (!held.is_valid()) throw nb::python_error();
    for (std::int64_t k = 0; k < size; ++k) {
        PyObject* const label = PyList_GET_ITEM(labels.ptr(), items[k]);
        Py_INCREF(label);
        PyTuple_SET_ITEM(held.ptr(), static_cast<Py_ssize_t>(k), label);
    }
    return held;
}

// Shares of the baskets: one object for each count, which many sets have in common. A count that takes the place of another
// gets a new object.
class Shares {
public:
    explicit Shares(std::int64_t n_baskets) : n_(static_cast<double>(n_baskets)) {}
    nb::object of(std::int64_t count) {
        Slot& slot = slots_[static_cast<std::size_t>(count) % slots_.size()];
        if (slot.count != count) slot = {count, nb::float_(static_cast<double>(count) / n_)};
        return slot.share;
    }

private:
    struct Slot {
        std::int64_t count = -1;
        nb::object share;
    };
    double n_;
    std::vector<Slot> slots_{4096};
};

// Pairs of (items of a set, share of the baskets) in order, for the sets that are wanted.
nb::list itemset_pairs(const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items,
                       const Array1<const std::int64_t>& counts, const Array1<const std::uint8_t>& wanted,
                       const nb::list& labels, std::int64_t n_baskets) {
    check_lists("itemset_pairs", starts, items, static_cast<std::int64_t>(labels.size()));
    require(counts.shape(0) + 1 == starts.shape(0) && wanted.shape(0) == counts.shape(0), "itemset_pairs",
            "counts and wanted must have one number per set");
    const auto order = without_gil([&] { return baskets::itemset_order(view(starts), view(items)); });
    const WithoutCollector quiet;
    nb::list pairs;
    Shares shares(n_baskets);
    for (const std::int64_t set : order) {
        const auto s = static_cast<std::size_t>(set);
        if (wanted.data()[s] == 0) continue;
        const std::int64_t begin = starts.data()[s];
        pairs.append(nb::make_tuple(labels_of(items.data() + begin, starts.data()[s + 1] - begin, labels),
                                    shares.of(counts.data()[s])));
    }
    return pairs;
}

// The labels of chosen sets; a set that is chosen again is the same object.
nb::list itemset_labels(const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items,
                        const Array1<const std::int64_t>& chosen, const nb::list& labels) {
    check_lists("itemset_labels", starts, items, static_cast<std::int64_t>(labels.size()));
    const auto sets = static_cast<std::int64_t>(starts.shape(0)) - 1;
    const WithoutCollector quiet;
    std::vector<nb::object> made(static_cast<std::size_t>(sets));
    nb::list out;
    for (std::size_t k = 0; k < chosen.shape(0); ++k) {
        const std::int64_t set = chosen.data()[k];
        require(set >= 0 && set < sets, "itemset_labels", "chosen must be numbers of sets");
        nb::object& held = made[static_cast<std::size_t>(set)];
        if (!held.is_valid()) {
            const std::int64_t begin = starts.data()[set];
            held = labels_of(items.data() + begin, starts.data()[set + 1] - begin, labels);
        }
        out.append(held);
    }
    return out;
}

}  // namespace

void bind_baskets(nb::module_& m) {
    m.def("itemset_pairs", &itemset_pairs, "starts"_a, "items"_a, "counts"_a, "wanted"_a, "labels"_a, "n_baskets"_a,
          "Items and support of the wanted sets, by size and items.");
    m.def("itemset_labels", &itemset_labels, "starts"_a, "items"_a, "chosen"_a, "labels"_a,
          "The labels of the items of each chosen set.");
    m.def(
        "itemset_order",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items) {
            check_lists("itemset_order", starts, items, 0x7FFFFFFF);
            return own(without_gil([&] { return baskets::itemset_order(view(starts), view(items)); }));
        },
        "starts"_a, "items"_a, "The numbers of the sets by size and items.");
    m.def(
        "candidate_rules",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items,
           const Array1<const std::int64_t>& counts, std::int64_t n_items, std::int64_t n_goods, std::int64_t widest,
           std::int64_t most, bool with_redundancy) {
            check_lists("candidate_rules", starts, items, n_items);
            require(counts.shape(0) + 1 == starts.shape(0), "candidate_rules", "counts must have one number per set");
            require(n_goods >= 0 && widest >= 1 && most >= 0, "candidate_rules", "bounds must not be negative");
            auto found = without_gil([&] {
                return baskets::candidate_rules(view(starts), view(items), view(counts), static_cast<index_t>(n_items),
                                                static_cast<index_t>(n_goods), static_cast<index_t>(widest), most,
                                                with_redundancy);
            });
            return nb::make_tuple(found.complete, own(std::move(found.both)), own(std::move(found.left)),
                                  own(std::move(found.right)), own(std::move(found.redundant)));
        },
        "starts"_a, "items"_a, "counts"_a, "n_items"_a, "n_goods"_a, "widest"_a, "most"_a, "with_redundancy"_a,
        "Every rule between two sides of a frequent set: whether complete, sets of both sides, left, right, redundant.");
    m.def(
        "independence_tails",
        [](const Array1<const std::int64_t>& x, const Array1<const std::int64_t>& y,
           const Array1<const std::int64_t>& both, std::int64_t n, int threads) {
            require(x.shape(0) == both.shape(0) && y.shape(0) == both.shape(0), "independence_tails",
                    "counts must have the same length");
            for (std::size_t r = 0; r < both.shape(0); ++r)
                require(x.data()[r] >= 0 && x.data()[r] <= n && y.data()[r] >= 0 && y.data()[r] <= n, "independence_tails",
                        "counts must lie between 0 and n");
            return own(without_gil([&] { return baskets::independence_tails(view(x), view(y), view(both), n, threads); }));
        },
        "x"_a, "y"_a, "both"_a, "n"_a, "threads"_a, "One-sided p-values of Fisher's exact test.");
    m.def("number_items", &number_items, "baskets"_a, "distinct"_a,
          "Lists of items as numbers by first appearance (each once per list if distinct): offsets, numbers, items.");
    m.def(
        "frequent_itemsets",
        [](const Array1<const std::int64_t>& offsets, const Array1<const std::int32_t>& items, std::int64_t n_items,
           std::int64_t least, std::int64_t longest, std::int64_t most, int threads) {
            check_lists("frequent_itemsets", offsets, items, n_items);
            require(offsets.shape(0) <= 0x7FFFFFFF, "frequent_itemsets", "there must be less than 2^31 baskets");
            require(least >= 1 && longest >= 0 && most >= 0, "frequent_itemsets", "bounds must not be negative");
            auto found = without_gil([&] {
                return baskets::frequent_itemsets(view(offsets), view(items), static_cast<index_t>(n_items), least,
                                                  static_cast<index_t>(longest), most, threads);
            });
            return nb::make_tuple(found.complete, own(std::move(found.starts)), own(std::move(found.items)),
                                  own(std::move(found.counts)));
        },
        "offsets"_a, "items"_a, "n_items"_a, "least"_a, "longest"_a, "most"_a, "threads"_a,
        "Every set of items that at least `least` baskets hold: whether complete, starts, items, counts.");
    m.def(
        "itemset_kinds",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items,
           const Array1<const std::int64_t>& counts, std::int64_t n_items) {
            check_lists("itemset_kinds", starts, items, n_items);
            require(counts.shape(0) + 1 == starts.shape(0), "itemset_kinds", "counts must have one number per set");
            auto kinds = without_gil([&] {
                return baskets::itemset_kinds(view(starts), view(items), view(counts), static_cast<index_t>(n_items));
            });
            return own(std::move(kinds));
        },
        "starts"_a, "items"_a, "counts"_a, "n_items"_a, "Of all frequent itemsets: bit 0 if closed, bit 1 if maximal.");
}

}  // namespace assay::bindings
