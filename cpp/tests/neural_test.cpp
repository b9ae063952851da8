// Multilayer perceptrons: gradients, threads, XOR.
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/neural/mlp.hpp"
#include "check.hpp"

namespace {

using namespace assay;

struct Sample {
    std::vector<double> x, target;
    std::vector<std::int64_t> rows;
    MlpData data;

    Sample(index_t n, index_t d, index_t outputs, index_t classes) {
        Random random(1);
        for (index_t i = 0; i < n * d; ++i) x.push_back(random.normal());
        for (index_t i = 0; i < n; ++i) {
            rows.push_back(i);
            if (classes > 0)
                target.push_back(static_cast<double>(random.below(static_cast<std::uint32_t>(classes))));
            else
                for (index_t k = 0; k < outputs; ++k) target.push_back(random.normal());
        }
        data.x = c_matrix<const double>(x.data(), n, d);
        data.target = c_matrix<const double>(target.data(), n, classes > 0 ? 1 : outputs);
        data.rows = {rows.data(), n};
    }
};

std::vector<double> weights_of(const MlpNet& net) {
    Random random(2);
    std::vector<double> theta(static_cast<std::size_t>(net.size()));
    for (double& value : theta) value = 0.5 * random.normal();
    return theta;
}

}  // namespace

TEST("MLP gradient equals finite differences") {
    for (const Activation activation : {Activation::identity, Activation::logistic, Activation::tanh, Activation::relu}) {
        const Sample sample(150, 3, 3, 3);
        const MlpNet net{{3, 20, 5, 3}, activation, Loss::log_loss, 0.0, true};
        MlpOptions options;
        options.l2 = 0.1;
        std::vector<double> theta = weights_of(net), gradient(theta.size());
        mlp_gradient<double>(net, sample.data, options, theta.data(), gradient.data());
        for (std::size_t j = 0; j < theta.size(); j += 7) {
            const double step = 1e-5, at = theta[j];
            theta[j] = at + step;
            const double up = mlp_gradient<double>(net, sample.data, options, theta.data(), nullptr);
            theta[j] = at - step;
            const double down = mlp_gradient<double>(net, sample.data, options, theta.data(), nullptr);
            theta[j] = at;
            CHECK_NEAR(gradient[j], (up - down) / (2 * step), 1e-7);
        }
    }
}

TEST("MLP epochs have the same bits for any thread count") {
    const Sample sample(1000, 9, 2, 0);
    const MlpNet net{{9, 33, 2}, Activation::relu, Loss::squared_error, 0.0, false};
    std::vector<std::vector<float>> found;
    for (const int threads : {1, 3}) {
        const std::vector<double> start = weights_of(net);
        std::vector<float> theta(start.begin(), start.end()), first(theta.size()), second(theta.size());
        MlpOptions options;
        options.max_epochs = 2, options.batch_size = 700, options.dropout = 0.3, options.threads = threads, options.l1 = 1e-3;
        MlpState<float> state{theta.data(), first.data(), second.data(), 0, 0};
        const MlpHistory history = mlp_epochs<float>(net, sample.data, options, state);
        CHECK(history.loss.size() == 2 && state.updates == 4);
        found.push_back(theta);
    }
    CHECK(found[0] == found[1]);
}

TEST("MLP learns xor and scores rows") {
    const std::vector<double> x{0, 0, 0, 1, 1, 0, 1, 1}, y{0, 1, 1, 0};
    const std::vector<std::int64_t> rows{0, 1, 2, 3};
    MlpData data;
    data.x = c_matrix<const double>(x.data(), 4, 2);
    data.target = c_matrix<const double>(y.data(), 4, 1);
    data.rows = {rows.data(), 4};
    const MlpNet net{{2, 8, 1}, Activation::tanh, Loss::log_loss, 0.0, true};
    const std::vector<double> start = weights_of(net);
    std::vector<float> theta(start.begin(), start.end()), first(theta.size()), second(theta.size());
    MlpOptions options;
    options.max_epochs = 500, options.batch_size = 1, options.steps.eta0 = 0.02;
    MlpState<float> state{theta.data(), first.data(), second.data(), 0, 0};
    mlp_epochs<float>(net, data, options, state);
    std::vector<double> scores(4);
    mlp_scores<float>(net, theta.data(), data.x, scores.data(), 1);
    for (std::size_t i = 0; i < 4; ++i) CHECK((scores[i] > 0) == (y[i] > 0.5));
}
