// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/job_pool.hpp"

#include <tenure/errc.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/open_store.hpp>
#include <tenure/opentelemetry.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>
#include <opentelemetry/exporters/memory/in_memory_span_exporter_factory.h>
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
namespace trace = ::opentelemetry::trace;
namespace sdk = ::opentelemetry::sdk::trace;
namespace memory = ::opentelemetry::exporter::memory;
using tenure::opentelemetry::add_spans;
using tenure::opentelemetry::in_span;
using tenure::opentelemetry::SpanPtr;
using tenure::opentelemetry::TracerProviderPtr;

namespace
{

using Spans = std::vector<std::unique_ptr<sdk::SpanData>>;

/** A provider whose spans stay in memory. */
class Recorder
{
public:
    Recorder()
    {
        auto exporter = memory::InMemorySpanExporterFactory::Create(data_);
        provider_ = std::shared_ptr<trace::TracerProvider>(
            sdk::TracerProviderFactory::Create(sdk::SimpleSpanProcessorFactory::Create(std::move(exporter))));
    }

    [[nodiscard]] TracerProviderPtr const& provider() const { return provider_; }
    [[nodiscard]] SpanPtr span(char const* name) const { return provider_->GetTracer("the program")->StartSpan(name); }
    /** The spans that have ended since the last call. */
    [[nodiscard]] Spans take() const
    {
        REQUIRE(flush_log(10s));
        return data_->GetSpans();
    }

private:
    std::shared_ptr<memory::InMemorySpanData> data_;
    TracerProviderPtr provider_;
};

std::string text_of(sdk::SpanData const& span, std::string const& attribute)
{
    auto const found = span.GetAttributes().find(attribute);
    return found == span.GetAttributes().end() ? "none" : ::opentelemetry::nostd::get<std::string>(found->second);
}

std::int64_t number_of(sdk::SpanData const& span, std::string const& attribute)
{
    return ::opentelemetry::nostd::get<std::int64_t>(span.GetAttributes().at(attribute));
}

StoreOptions with_spans(Recorder const& recorder)
{
    StoreOptions options;
    add_spans(options, recorder.provider());
    return options;
}

struct SpanTest : JobPool {
    explicit SpanTest(Recorder const& with = {})
        : JobPool(with_spans(with))
        , recorder(with)
    {
    }

    Recorder recorder;
};

} // namespace

TEST_CASE("an acquisition and its hold are spans below the caller's span", "[opentelemetry]")
{
    SpanTest test;
    auto const caller = test.recorder.span("request");
    Attempt<Slot> attempt;
    {
        trace::Scope const scope(caller);
        test.acquire(attempt);
    }
    caller->End();
    auto const acquired = test.recorder.take();
    REQUIRE(acquired.size() == 2);
    test.runtime->run_for(500ms);
    attempt.holding = Slot();
    test.runtime->run_ready();
    auto const released = test.recorder.take();
    REQUIRE(released.size() == 1);
    auto const& acquire = acquired[0]->GetName() == "tenure acquire" ? *acquired[0] : *acquired[1];
    auto const& hold = *released[0];
    CHECK(acquire.GetName() == "tenure acquire");
    CHECK(acquire.GetDuration() == 40ms);
    CHECK(acquire.GetSpanKind() == trace::SpanKind::kClient);
    CHECK(hold.GetName() == "tenure hold");
    CHECK(hold.GetDuration() >= 500ms);
    CHECK(hold.GetDuration() < 501ms);
    CHECK(text_of(hold, "tenure.reason") == "released");
    CHECK(hold.GetStartTime().time_since_epoch() >= acquire.GetStartTime().time_since_epoch() + 39ms);
    for (auto const* span : {&acquire, &hold}) {
        CHECK(span->GetParentSpanId() == caller->GetContext().span_id());
        CHECK(span->GetTraceId() == caller->GetContext().trace_id());
        CHECK(span->GetStatus() == trace::StatusCode::kUnset);
        CHECK(text_of(*span, "tenure.store") == "scripted://");
        CHECK(text_of(*span, "tenure.key") == "job:2");
        CHECK(text_of(*span, "tenure.worker") == "w1");
        CHECK(text_of(*span, "tenure.note") == "rack 7");
        CHECK(number_of(*span, "tenure.slot") == 2);
        CHECK(number_of(*span, "tenure.fencing_token") == 1);
        CHECK(span->GetInstrumentationScope().GetName() == "tenure");
    }
}

TEST_CASE("without a caller's span the acquisition is the parent of the hold", "[opentelemetry]")
{
    SpanTest test;
    Attempt<Slot> attempt;
    test.acquire(attempt);
    auto const acquired = test.recorder.take();
    REQUIRE(acquired.size() == 1);
    CHECK_FALSE(acquired[0]->GetParentSpanId().IsValid());
    attempt.holding = Slot();
    test.runtime->run_ready();
    auto const released = test.recorder.take();
    REQUIRE(released.size() == 1);
    CHECK(released[0]->GetParentSpanId() == acquired[0]->GetSpanId());
}

TEST_CASE(
    "a failed acquisition is an error, a cancelled one and a try that finds a held key are none", "[opentelemetry]")
{
    SpanTest test;
    Attempt<Slot> attempt;
    auto status = trace::StatusCode::kUnset;
    std::string type;
    SECTION("timed out")
    {
        attempt.start(*test.pool, {.wait = 200ms});
        test.runtime->run_ready();
        test.pass(300ms, test.backend->claims, [] { return Busy{.earliest_expiry = 3s}; });
        status = trace::StatusCode::kError;
        type = "timed_out";
    }
    SECTION("a single try")
    {
        attempt.start(*test.pool, {.wait = 0ms});
        test.runtime->run_ready();
        test.pass(10ms, test.backend->claims, [] { return Busy{.earliest_expiry = 3s}; });
        type = "timed_out";
    }
    SECTION("cancelled")
    {
        attempt.start(*test.pool);
        test.runtime->run_ready();
        attempt.cancel.emit(asio::cancellation_type::terminal);
        test.runtime->run_ready();
        type = "system:125";
    }
    REQUIRE(attempt.error);
    auto const spans = test.recorder.take();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0]->GetName() == "tenure acquire");
    CHECK(text_of(*spans[0], "tenure.key") == "job:0..3");
    CHECK(spans[0]->GetStatus() == status);
    CHECK(text_of(*spans[0], "error.type") == type);
}

TEST_CASE("a loss is an error of the hold, and a failed renewal is an event", "[opentelemetry]")
{
    SpanTest test;
    Attempt<Slot> attempt;
    test.acquire(attempt);
    test.runtime->run_for(1s);
    test.backend->answer(test.backend->renewals, Failure::unknown(make_error_code(errc::store_unavailable), "cut off"));
    test.runtime->run_for(100ms);
    test.backend->answer(test.backend->renewals, Renewed{3s, test.runtime->now()});
    test.runtime->run_for(1100ms);
    test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(test.recorder.take().size() == 1);
    attempt.holding = Slot();
    test.runtime->run_ready();
    auto const spans = test.recorder.take();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0]->GetStatus() == trace::StatusCode::kError);
    CHECK(std::string(spans[0]->GetDescription()) == describe(CancelReason::not_owner));
    CHECK(text_of(*spans[0], "error.type") == "not_owner");
    std::vector<std::string> names;
    for (auto const& event : spans[0]->GetEvents())
        names.push_back(event.GetName());
    CHECK(names == std::vector<std::string>{"tenure.at_risk", "tenure.renewed_late", "tenure.lost"});
}

TEST_CASE("each key of a MultiLock has its hold below the caller's span", "[opentelemetry]")
{
    SpanTest test;
    auto const caller = test.recorder.span("request");
    MultiLock const both({Lock(*test.store, {.key = "a", .ttl = 3s}), Lock(*test.store, {.key = "b", .ttl = 3s})});
    Attempt<LeaseSet> attempt;
    {
        trace::Scope const scope(caller);
        attempt.start(both);
    }
    test.runtime->run_ready();
    while (!test.backend->claims.empty())
        test.grant_claim(3s);
    REQUIRE(attempt.error == error_code());
    attempt.holding = LeaseSet();
    test.runtime->run_ready();
    std::multiset<std::string> seen;
    for (auto const& span : test.recorder.take()) {
        CHECK(span->GetParentSpanId() == caller->GetContext().span_id());
        seen.insert(std::string(span->GetName()) + " " + text_of(*span, "tenure.key"));
    }
    CHECK(seen == std::multiset<std::string>{"tenure acquire a", "tenure acquire b", "tenure hold a", "tenure hold b"});
}

TEST_CASE("in_span is the parent of what a coroutine awaits, and of nothing else", "[opentelemetry]")
{
    Recorder recorder;
    asio::io_context context;
    StoreOptions options;
    add_spans(options, recorder.provider());
    auto store = std::optional(open_store(context, "memory://", options));
    Lock const lock(*store, {.key = "k"});
    store.reset();
    auto const caller = recorder.span("request");
    bool leaked = true;
    auto const work = [](Lock lock, SpanPtr caller, bool* leaked) -> asio::awaitable<void> {
        Lease lease = co_await in_span(caller, lock.async_acquire());
        *leaked = trace::Tracer::GetCurrentSpan()->GetContext().IsValid();
        co_await lease.async_release();
    };
    asio::co_spawn(context, work(lock, caller, &leaked), [](std::exception_ptr failure) { REQUIRE_FALSE(failure); });
    context.run();
    CHECK_FALSE(leaked);
    auto const spans = recorder.take();
    REQUIRE(spans.size() == 2);
    for (auto const& span : spans)
        CHECK(span->GetParentSpanId() == caller->GetContext().span_id());
}

TEST_CASE("the hook of the options stays, and a context of the program is refused", "[opentelemetry]")
{
    Recorder recorder;
    auto const heard = std::make_shared<std::vector<Event::Kind>>();
    asio::io_context context;
    StoreOptions options;
    options.on_event = [heard](Event const& event) { heard->push_back(event.kind); };
    add_spans(options, recorder.provider());
    CHECK_THROWS_AS(add_spans(options, recorder.provider()), std::invalid_argument);
    {
        Lock const lock(open_store(context, "memory://", options), {.key = "k"});
        lock.async_acquire([](error_code error, Lease const&) { REQUIRE_FALSE(error); });
        context.run();
    }
    CHECK(recorder.take().size() == 2);
    CHECK(*heard == std::vector{Event::Kind::acquired, Event::Kind::released});
}

} // namespace tenure::test
