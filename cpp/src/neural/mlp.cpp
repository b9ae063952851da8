#include "assay/neural/mlp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/threads.hpp"
#include "assay/losses/losses.hpp"
#include "products.hpp"

namespace assay {

index_t MlpNet::size() const {
    index_t total = 0;
    for (std::size_t l = 0; l < layers(); ++l) total += (widths[l] + 1) * widths[l + 1];
    return total;
}

namespace neural {
namespace {

constexpr index_t block = 128;           // rows that go through the net together
constexpr index_t most_parts = 16;       // of a batch
constexpr index_t most_room = 1 << 26;   // numbers in the gradients of all parts
constexpr index_t few_outputs = 4;       // up to which dot products beat tiles
constexpr double worth_waking = 4e5;     // multiply-adds below which one thread is faster

// The weights as products want them: padded rows, by unit and by input.
template <class T>
class Weights {
public:
    explicit Weights(const MlpNet& net) : net_(net) {
        for (std::size_t l = 0; l < net.layers(); ++l) {
            const index_t in = net.widths[l], out = net.widths[l + 1];
            by_unit_.emplace_back(out * padded<T>(in));
            by_input_.emplace_back(out <= few_outputs ? 0 : in * padded<T>(out));
            bias_.emplace_back(padded<T>(out));
        }
    }
    void take(const T* theta) {
        for (std::size_t l = 0; l < net_.layers(); ++l) {
            const index_t in = net_.widths[l], out = net_.widths[l + 1], row = padded<T>(in), column = padded<T>(out);
            T* const by_unit = by_unit_[l].data();
            for (index_t j = 0; j < out; ++j) std::copy_n(theta + j * in, in, by_unit + j * row);
            if (out > few_outputs) {
                constexpr index_t side = 16;
                T* const by_input = by_input_[l].data();
                for (index_t i = 0; i < in; i += side)
                    for (index_t j = 0; j < out; j += side)
                        for (index_t b = i; b < std::min(in, i + side); ++b)
                            for (index_t c = j; c < std::min(out, j + side); ++c)
                                by_input[b * column + c] = theta[c * in + b];
            }
            theta += in * out;
            std::copy_n(theta, out, bias_[l].data());
            theta += out;
        }
    }
    const T* by_unit(std::size_t l) const { return by_unit_[l].data(); }
    const T* by_input(std::size_t l) const { return by_input_[l].data(); }
    const T* bias(std::size_t l) const { return bias_[l].data(); }

private:
    const MlpNet& net_;
    std::vector<Buffer<T>> by_unit_, by_input_, bias_;
};

// What one thread needs to take rows through the net and back.
template <class T>
class Pass {
public:
    Pass(const MlpNet& net, const Weights<T>& weights, bool backwards, bool dropout) : net_(net), weights_(weights) {
        for (const index_t width : net.widths) {
            values_.emplace_back(block * padded<T>(width));
            deltas_.emplace_back(backwards ? block * padded<T>(width) : 0);
            masks_.emplace_back(dropout ? block * padded<T>(width) : 0);
        }
        const auto scores = static_cast<std::size_t>(block * net.outputs());
        raw_.resize(scores), gradient_.resize(scores), weight_.resize(block);
        column_.resize(block), column_score_.resize(block), column_gradient_.resize(block);
    }

    // Rows through the net; row(i) points to the d inputs of the i-th.
    template <class Row>
    void forward(index_t count, Row&& row, double dropout, std::uint64_t key, std::uint64_t stream) {
        const index_t d = net_.widths[0], room = padded<T>(d);
        T* const inputs = values_[0].data();
        for (index_t i = 0; i < count; ++i) {
            const double* const x = row(i);
            for (index_t j = 0; j < d; ++j) inputs[i * room + j] = static_cast<T>(x[j]);
        }
        for (std::size_t l = 0; l < net_.layers(); ++l) {
            const index_t in = net_.widths[l], out = net_.widths[l + 1], from = padded<T>(in), to = padded<T>(out);
            if (out <= few_outputs)
                dots(Product<T>{values_[l].data(), from, 1, weights_.by_unit(l), from, values_[l + 1].data(), to, count,
                                out, in, weights_.bias(l)});
            else
                multiply(Product<T>{values_[l].data(), from, 1, weights_.by_input(l), to, values_[l + 1].data(), to, count,
                                    out, in, weights_.bias(l)});
            if (l + 1 == net_.layers()) break;
            activate(values_[l + 1].data(), count * to, net_.activation);
            if (dropout > 0.0) drop(l + 1, count, dropout, key, stream);
        }
    }

    // The sum of w loss over the rows just taken forward; their gradients are kept, times `scale`, for `backward`.
    template <class Row>
    double judge(index_t count, const MlpData& data, Row&& row, double scale, bool backwards) {
        const index_t outputs = net_.outputs(), room = padded<T>(outputs);
        const T* const scores = values_.back().data();
        for (index_t i = 0; i < count; ++i) {
            weight_[static_cast<std::size_t>(i)] = data.weights.empty() ? 1.0 : data.weights[row(i)];
            for (index_t k = 0; k < outputs; ++k)
                raw_[static_cast<std::size_t>(i * outputs + k)] = static_cast<double>(scores[i * room + k]);
        }
        const Vector<const double> weights{data.weights.empty() ? nullptr : weight_.data(), data.weights.empty() ? 0 : count};
        double total = 0.0;
        if (net_.classes || outputs == 1) {
            for (index_t i = 0; i < count; ++i) column_[static_cast<std::size_t>(i)] = data.target(row(i), 0);
            total = loss_gradient({net_.loss, net_.parameter, {column_.data(), count}, c_matrix<const double>(raw_.data(), count, outputs), weights},
                                  gradient_.data(), nullptr, 1);
        } else {
            std::vector<double>& score = column_score_;
            for (index_t k = 0; k < outputs; ++k) {
                for (index_t i = 0; i < count; ++i) {
                    column_[static_cast<std::size_t>(i)] = data.target(row(i), k);
                    score[static_cast<std::size_t>(i)] = raw_[static_cast<std::size_t>(i * outputs + k)];
                }
                total += loss_gradient({net_.loss, net_.parameter, {column_.data(), count}, c_matrix<const double>(score.data(), count, 1), weights},
                                       column_gradient_.data(), nullptr, 1);
                for (index_t i = 0; i < count; ++i)
                    gradient_[static_cast<std::size_t>(i * outputs + k)] = column_gradient_[static_cast<std::size_t>(i)];
            }
        }
        if (backwards) {
            T* const delta = deltas_.back().data();
            for (index_t i = 0; i < count; ++i)
                for (index_t k = 0; k < outputs; ++k)
                    delta[i * room + k] = static_cast<T>(scale * gradient_[static_cast<std::size_t>(i * outputs + k)]);
        }
        return total;
    }

    // Adds the gradient of the rows to `gradient`: by layer, units x padded inputs, then the biases padded.
    void backward(index_t count, const std::vector<Buffer<T>>& gradient, const std::vector<Buffer<T>>& bias, bool dropout) {
        for (std::size_t l = net_.layers(); l-- > 0;) {
            const index_t in = net_.widths[l], out = net_.widths[l + 1], from = padded<T>(in), to = padded<T>(out);
            const T* const delta = deltas_[l + 1].data();
            multiply(Product<T>{delta, 1, to, values_[l].data(), from, gradient[l].data(), from, out, in, count, nullptr, true});
            T* const sums = bias[l].data();
            for (index_t i = 0; i < count; ++i)
                for (index_t j = 0; j < out; ++j) sums[j] += delta[i * to + j];
            if (l == 0) break;
            multiply(Product<T>{delta, to, 1, weights_.by_unit(l), from, deltas_[l].data(), from, count, in, out, nullptr});
            if (dropout) unmask(l, count);
            chain(deltas_[l].data(), values_[l].data(), count * from, net_.activation);
            if (dropout) mask(l, count);
        }
    }

    const T* scores() const { return values_.back().data(); }

private:
    // Sets units to 0 with probability p: 16 bits of a counter-based stream each.
    void drop(std::size_t l, index_t count, double p, std::uint64_t key, std::uint64_t stream) {
        const index_t cells = count * padded<T>(net_.widths[l]);
        const auto limit = static_cast<std::uint32_t>(std::lround(p * 65536.0));
        const T keep = static_cast<T>(1.0 / (1.0 - static_cast<double>(limit) / 65536.0));
        T* const mask = masks_[l].data();
        for (index_t c = 0; c < cells; c += 8) {
            const auto bits = philox(key, (static_cast<std::uint64_t>(l) << 48) | static_cast<std::uint64_t>(c), stream);
            for (index_t b = 0; b < std::min<index_t>(8, cells - c); ++b) {
                const std::uint32_t draw = (bits[static_cast<std::size_t>(b / 2)] >> (16 * (b % 2))) & 0xFFFFU;
                mask[c + b] = draw < limit ? T(0) : keep;
            }
        }
        T* const values = values_[l].data();
        for (index_t c = 0; c < cells; ++c) values[c] *= mask[c];
    }
    // The derivative is taken at the value before the mask; what was dropped has none.
    void unmask(std::size_t l, index_t count) {
        const index_t cells = count * padded<T>(net_.widths[l]);
        const T* const mask = masks_[l].data();
        T* const values = values_[l].data();
        for (index_t c = 0; c < cells; ++c) values[c] = mask[c] > T(0) ? values[c] / mask[c] : T(0);
    }
    void mask(std::size_t l, index_t count) {
        const index_t cells = count * padded<T>(net_.widths[l]);
        const T* const mask = masks_[l].data();
        T* const deltas = deltas_[l].data();
        for (index_t c = 0; c < cells; ++c) deltas[c] *= mask[c];
    }

    const MlpNet& net_;
    const Weights<T>& weights_;
    std::vector<Buffer<T>> values_, deltas_, masks_;
    std::vector<double> raw_, gradient_, weight_, column_, column_score_, column_gradient_;
};

// A part of a batch with a gradient of its own.
template <class T>
struct Part {
    Part(const MlpNet& net, const Weights<T>& weights, bool dropout) : pass(net, weights, true, dropout) {
        for (std::size_t l = 0; l < net.layers(); ++l) {
            gradient.emplace_back(net.widths[l + 1] * padded<T>(net.widths[l]));
            bias.emplace_back(padded<T>(net.widths[l + 1]));
        }
    }
    Pass<T> pass;
    std::vector<Buffer<T>> gradient, bias;
    double loss = 0.0;
};

template <class T>
class Training {
public:
    Training(const MlpNet& net, const MlpData& data, const MlpOptions& options) : net_(net), data_(data), options_(options), weights_(net) {
        for (index_t i = 0; i < data.rows.size; ++i) total_ += weight_of(data.rows[i]);
        order_.assign(data.rows.data, data.rows.data + data.rows.size);
        const index_t widest = *std::max_element(net.widths.begin(), net.widths.end());
        merged_ = Buffer<T>(padded<T>(widest));
    }

    // F and its gradient in all training rows.
    double at(const T* theta, T* gradient) {
        weights_.take(theta);
        const double loss = run(0, data_.rows.size, 1.0 / total_, 0.0);
        index_t place = 0;
        each_run([&](std::size_t, const T* g, index_t count, bool bias) {
            for (index_t i = 0; i < count && gradient != nullptr; ++i)
                gradient[place + i] = g[i] + (bias ? T(0) : static_cast<T>(options_.l2) * theta[place + i]);
            place += count;
        });
        return loss / total_ + penalty(theta);
    }

    MlpHistory descend(MlpState<T>& state) {
        MlpHistory history;
        const index_t n = data_.rows.size, batch = std::clamp<index_t>(options_.batch_size, 1, n);
        std::vector<T> best;
        double least = std::numeric_limits<double>::infinity(), eta = options_.steps.eta0, first = -1.0;
        index_t stale = 0;
        for (index_t e = 0; e < options_.max_epochs && !interrupted(); ++e) {
            if (options_.shuffle && batch < n) shuffle(state.epochs);
            double loss = 0.0;
            for (index_t begin = 0; begin < n && !interrupted(); begin += batch) {
                const index_t end = std::min(n, begin + batch);
                last_ = options_.steps.step(static_cast<double>(state.updates), static_cast<double>(state.epochs) + static_cast<double>(begin) / static_cast<double>(n), eta);
                weights_.take(state.theta);
                const double scale = static_cast<double>(n) / (static_cast<double>(end - begin) * total_);
                loss += run(begin, end, scale, options_.dropout, static_cast<std::uint64_t>(state.updates));
                ++state.updates;
                step(state);
            }
            if (interrupted()) break;
            ++state.epochs;
            loss = loss / total_ + penalty(state.theta);
            first = first < 0.0 ? loss : first;
            history.loss.push_back(loss);
            history.step.push_back(last_);
            double watched = loss;
            if (!data_.validation.empty()) history.validation.push_back(watched = validation_loss(state.theta));
            if (!std::isfinite(loss) || !std::isfinite(watched) || loss > 1e8 * (std::abs(first) + 1.0)) {
                history.status = MlpStatus::diverged;
                return history;
            }
            stale = watched > least - std::max(options_.tol, 0.0) ? stale + 1 : 0;
            if (watched < least) {
                least = watched;
                if (!data_.validation.empty()) best.assign(state.theta, state.theta + net_.size());
            }
            if (options_.tol < 0.0 || stale <= options_.patience) continue;
            if (options_.steps.adaptive() && eta > 1e-6 * options_.steps.eta0) {
                eta /= 5.0;
                stale = 0;
                continue;
            }
            history.status = MlpStatus::converged;
            break;
        }
        if (!best.empty()) std::copy(best.begin(), best.end(), state.theta);
        return history;
    }

private:
    double weight_of(index_t row) const { return data_.weights.empty() ? 1.0 : data_.weights[row]; }

    void shuffle(std::int64_t epoch) {
        order_.assign(data_.rows.data, data_.rows.data + data_.rows.size);
        Random random(options_.key, static_cast<std::uint64_t>(epoch));
        for (std::size_t i = order_.size(); i-- > 1;)
            std::swap(order_[i], order_[random.below(static_cast<std::uint32_t>(i + 1))]);
    }

    // Gradients of the batch order[begin..end) into the parts; returns the sum of w loss.
    double run(index_t begin, index_t end, double scale, double dropout, std::uint64_t update = 0) {
        const index_t m = end - begin, size = net_.size();
        const index_t count = std::clamp<index_t>(std::min(chunk_count(m, block), most_room / size), 1, most_parts);
        while (static_cast<index_t>(parts_.size()) < count) parts_.emplace_back(std::make_unique<Part<T>>(net_, weights_, options_.dropout > 0.0));
        used_ = count;
        const int threads = static_cast<double>(m) * static_cast<double>(size) < worth_waking ? 1 : options_.threads;
        parallel_chunks(count, 1, threads, [&](index_t c, index_t, index_t) {
            Part<T>& part = *parts_[static_cast<std::size_t>(c)];
            for (std::size_t l = 0; l < net_.layers(); ++l) {
                std::fill_n(part.gradient[l].data(), net_.widths[l + 1] * padded<T>(net_.widths[l]), T(0));
                std::fill_n(part.bias[l].data(), padded<T>(net_.widths[l + 1]), T(0));
            }
            part.loss = 0.0;
            const index_t from = begin + m * c / count, to = begin + m * (c + 1) / count;
            for (index_t at = from; at < to; at += block) {
                const index_t rows = std::min(block, to - at);
                const auto row = [&](index_t i) { return order_[static_cast<std::size_t>(at + i)]; };
                const std::uint64_t stream = (update << 32) ^ static_cast<std::uint64_t>(at);
                part.pass.forward(rows, [&](index_t i) { return data_.x.row(row(i)); }, dropout, ~options_.key, stream);
                part.loss += part.pass.judge(rows, data_, row, scale, true);
                part.pass.backward(rows, part.gradient, part.bias, dropout > 0.0);
            }
        });
        double loss = 0.0;
        for (index_t c = 0; c < count; ++c) loss += parts_[static_cast<std::size_t>(c)]->loss;
        return loss;
    }

    // work(layer, gradient of the data, count, whether biases) for every run of theta in order.
    template <class Work>
    void each_run(Work&& work) {
        const auto sum = [&](const auto& pointer, index_t count) -> const T* {
            if (used_ == 1) return pointer(*parts_[0]);
            T* const merged = merged_.data();
            std::copy_n(pointer(*parts_[0]), count, merged);
            for (index_t c = 1; c < used_; ++c) {
                const T* const more = pointer(*parts_[static_cast<std::size_t>(c)]);
                for (index_t i = 0; i < count; ++i) merged[i] += more[i];
            }
            return merged;
        };
        for (std::size_t l = 0; l < net_.layers(); ++l) {
            const index_t in = net_.widths[l], out = net_.widths[l + 1], row = padded<T>(in);
            for (index_t j = 0; j < out; ++j)
                work(l, sum([&](const Part<T>& part) { return part.gradient[l].data() + j * row; }, in), in, false);
            work(l, sum([&](const Part<T>& part) { return part.bias[l].data(); }, out), out, true);
        }
    }

    void step(MlpState<T>& state) {
        Step<T> given{};
        const double t = static_cast<double>(state.updates);
        const bool adam = options_.solver == MlpSolver::adam;
        const double warm = adam ? std::sqrt(1.0 - std::pow(options_.beta2, t)) / (1.0 - std::pow(options_.beta1, t)) : 1.0;
        given.eta = static_cast<T>(last_ * warm);
        given.momentum = static_cast<T>(options_.momentum);
        given.beta1 = static_cast<T>(options_.beta1), given.beta2 = static_cast<T>(options_.beta2);
        given.epsilon = static_cast<T>(options_.epsilon);
        given.adam = adam, given.nesterov = options_.nesterov;
        index_t place = 0;
        each_run([&](std::size_t, const T* g, index_t count, bool bias) {
            given.l1 = bias ? T(0) : static_cast<T>(options_.l1);
            given.l2 = bias ? T(0) : static_cast<T>(options_.l2);
            take_step(state.theta + place, state.first + place, adam ? state.second + place : nullptr, g, count, given);
            place += count;
        });
    }

    double penalty(const T* theta) const {
        if (options_.l1 == 0.0 && options_.l2 == 0.0) return 0.0;
        double total = 0.0;
        for (std::size_t l = 0; l < net_.layers(); ++l) {
            const index_t cells = net_.widths[l] * net_.widths[l + 1];
            for (index_t i = 0; i < cells; ++i) {
                const double value = static_cast<double>(theta[i]);
                total += 0.5 * options_.l2 * value * value + options_.l1 * std::abs(value);
            }
            theta += cells + net_.widths[l + 1];
        }
        return total;
    }

    double validation_loss(const T* theta) {
        weights_.take(theta);
        const index_t n = data_.validation.size;
        std::vector<double> losses(static_cast<std::size_t>(chunk_count(n, 8 * block)));
        parallel_chunks(n, 8 * block, options_.threads, [&](index_t c, index_t begin, index_t end) {
            Pass<T> pass(net_, weights_, false, false);
            double loss = 0.0;
            for (index_t at = begin; at < end; at += block) {
                const index_t rows = std::min(block, end - at);
                const auto row = [&](index_t i) { return data_.validation[at + i]; };
                pass.forward(rows, [&](index_t i) { return data_.x.row(row(i)); }, 0.0, 0, 0);
                loss += pass.judge(rows, data_, row, 1.0, false);
            }
            losses[static_cast<std::size_t>(c)] = loss;
        });
        double weight = 0.0;
        for (index_t i = 0; i < n; ++i) weight += weight_of(data_.validation[i]);
        return std::accumulate(losses.begin(), losses.end(), 0.0) / weight;
    }

    const MlpNet& net_;
    const MlpData& data_;
    const MlpOptions& options_;
    Weights<T> weights_;
    std::vector<std::unique_ptr<Part<T>>> parts_;
    std::vector<std::int64_t> order_;
    Buffer<T> merged_;
    double total_ = 0.0, last_ = 0.0;
    index_t used_ = 1;
};

}  // namespace
}  // namespace neural

template <class T>
MlpHistory mlp_epochs(const MlpNet& net, const MlpData& data, const MlpOptions& options, MlpState<T>& state) {
    return neural::Training<T>(net, data, options).descend(state);
}

template <class T>
double mlp_gradient(const MlpNet& net, const MlpData& data, const MlpOptions& options, const T* theta, T* gradient) {
    return neural::Training<T>(net, data, options).at(theta, gradient);
}

template <class T>
void mlp_scores(const MlpNet& net, const T* theta, Matrix<const double> x, double* scores, int threads) {
    using namespace neural;
    Weights<T> weights(net);
    weights.take(theta);
    const index_t outputs = net.outputs(), room = padded<T>(outputs);
    parallel_chunks(x.rows, 8 * block, threads, [&](index_t, index_t begin, index_t end) {
        Pass<T> pass(net, weights, false, false);
        for (index_t at = begin; at < end; at += block) {
            const index_t rows = std::min(block, end - at);
            pass.forward(rows, [&](index_t i) { return x.row(at + i); }, 0.0, 0, 0);
            for (index_t i = 0; i < rows; ++i)
                for (index_t k = 0; k < outputs; ++k)
                    scores[(at + i) * outputs + k] = static_cast<double>(pass.scores()[i * room + k]);
        }
    });
}

template MlpHistory mlp_epochs<float>(const MlpNet&, const MlpData&, const MlpOptions&, MlpState<float>&);
template MlpHistory mlp_epochs<double>(const MlpNet&, const MlpData&, const MlpOptions&, MlpState<double>&);
template double mlp_gradient<float>(const MlpNet&, const MlpData&, const MlpOptions&, const float*, float*);
template double mlp_gradient<double>(const MlpNet&, const MlpData&, const MlpOptions&, const double*, double*);
template void mlp_scores<float>(const MlpNet&, const float*, Matrix<const double>, double*, int);
template void mlp_scores<double>(const MlpNet&, const double*, Matrix<const double>, double*, int);

}  // namespace assay
