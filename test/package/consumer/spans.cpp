// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Spans of a store, by an installed tenure::opentelemetry.
#include <tenure/opentelemetry.hpp>
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <iostream>

int main()
{
    boost::asio::io_context context;
    tenure::StoreOptions options;
    tenure::opentelemetry::add_spans(options);
    auto const store = tenure::open_store(context, "memory://", options);
    tenure::Lock const lock(store, {.key = "k"});
    bool held = false;
    lock.async_acquire([&](tenure::error_code error, tenure::Lease const&) { held = !error; });
    context.run();
    if (held && tenure::flush_log(std::chrono::seconds{10}))
        return EXIT_SUCCESS;
    std::cerr << "no lease is held under the spans\n";
    return EXIT_FAILURE;
}
