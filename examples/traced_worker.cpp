// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Tracing: acquisitions and leases as spans of OpenTelemetry, below a span of the program. They are printed; a service
// sets an exporter to its collector instead.
//   traced_worker [STORE_URL]      default: file:
#include <tenure/opentelemetry.hpp>
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** A provider that prints each span when it ends. */
tenure::opentelemetry::TracerProviderPtr make_provider()
{
    auto exporter = opentelemetry::exporter::trace::OStreamSpanExporterFactory::Create();
    auto processor = opentelemetry::sdk::trace::SimpleSpanProcessorFactory::Create(std::move(exporter));
    return std::shared_ptr<opentelemetry::trace::TracerProvider>(
        opentelemetry::sdk::trace::TracerProviderFactory::Create(std::move(processor)));
}

asio::awaitable<void> work(tenure::SlotPool pool, tenure::opentelemetry::SpanPtr job)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    {
        tenure::Slot slot = co_await tenure::opentelemetry::in_span(job, pool.async_acquire());
        pause.expires_after(20ms);
        co_await pause.async_wait(asio::deferred);
        co_await slot.async_release();
    }
    // a slot that a person takes away: its span ends with an error
    tenure::Slot slot = co_await tenure::opentelemetry::in_span(job, pool.async_acquire());
    auto const seen = co_await pool.async_inspect();
    co_await pool.async_evict(seen.at(slot.id()), "operator");
    auto const stop = slot.token();
    co_await stop.async_wait();
    co_await slot.async_release();
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    auto const provider = make_provider();
    asio::io_context context;
    {
        tenure::StoreOptions options;
        options.log_level = tenure::LogLevel::error;
        tenure::opentelemetry::add_spans(options, provider);
        auto const store = tenure::open_store(context, argc > 1 ? argv[1] : "file:", std::move(options));
        tenure::SlotPool const pool(store, {.prefix = "traced:", .size = 2, .ttl = 300ms});
        auto const job = provider->GetTracer("traced_worker")->StartSpan("job");
        asio::co_spawn(context, work(pool, job), report);
        context.run();
        job->End();
    }
    // the last spans end in the thread of the log
    return tenure::flush_log(10s) ? 0 : 1;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
