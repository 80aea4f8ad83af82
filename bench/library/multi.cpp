// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/latency.hpp"
#include "library/session.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench::library
{

Measurement multi_latency(std::string const& url, unsigned keys, unsigned pairs, Features features)
{
    std::vector<double> times;
    times.reserve(pairs);
    run_session(url, [&](tenure::Store store) {
        tenure::MultiLockConfig config;
        for (unsigned number = 0; number < keys; ++number)
            config.keys.push_back("bench:lock:" + std::to_string(number));
        config.lease = lease_options(features);
        return measure_latency(tenure::MultiLock(std::move(store), std::move(config)), pairs, times);
    });
    return {median(times)};
}

} // namespace bench::library
