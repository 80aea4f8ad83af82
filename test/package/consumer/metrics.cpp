// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The metrics of a store, by an installed tenure::prometheus.
#include <tenure/prometheus.hpp>
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <iostream>

int main()
{
    boost::asio::io_context context;
    auto const store = tenure::open_store(context, "memory://");
    tenure::Lock const lock(store, {.key = "k"});
    tenure::prometheus::Collector collector;
    collector.add(store);
    for (auto const& family : collector.Collect())
        if (family.name == "tenure_leases_held" && family.metric.size() == 1)
            return EXIT_SUCCESS;
    std::cerr << "the lock is not shown\n";
    return EXIT_FAILURE;
}
