// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/opentelemetry.hpp>

#include <tenure/clock.hpp>
#include <tenure/errc.hpp>
#include <tenure/version.hpp>

#include <boost/asio/error.hpp>
#include <opentelemetry/common/timestamp.h>
#include <opentelemetry/nostd/string_view.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::opentelemetry
{

namespace
{

namespace nostd = ::opentelemetry::nostd;
namespace trace = ::opentelemetry::trace;
using ::opentelemetry::common::SteadyTimestamp;
using ::opentelemetry::common::SystemTimestamp;

/** The context of one acquisition and its lease. Only the thread of the log changes it. */
struct Work {
    explicit Work(trace::SpanContext const& span)
        : caller(span)
    {
    }

    /// the caller's span, which may end before the lease does
    trace::SpanContext caller;
    /// null before the grant. Its destructor ends it if the event of the release was dropped
    SpanPtr hold;
    std::chrono::steady_clock::time_point granted;
    bool lost = false;
};

nostd::string_view view_of(std::string_view text)
{
    return {text.data(), text.size()};
}

/** An instant of tenure's clock, which also counts while the machine is suspended, on another clock. */
template <class OtherClock>
typename OtherClock::time_point on(Instant instant)
{
    return OtherClock::now() - std::chrono::duration_cast<typename OtherClock::duration>(Clock::now() - instant);
}

trace::EndSpanOptions ended_at(std::chrono::steady_clock::time_point when)
{
    trace::EndSpanOptions options;
    options.end_steady_time = SteadyTimestamp(when);
    return options;
}

/** @param began  on tenure's clock and on the steady one */
SpanPtr start(
    trace::Tracer& tracer, char const* name, Event const& event, trace::StartSpanOptions options, Instant began,
    std::chrono::steady_clock::time_point steady)
{
    options.start_system_time = SystemTimestamp(on<std::chrono::system_clock>(began));
    options.start_steady_time = SteadyTimestamp(steady);
    auto span = tracer.StartSpan(name, {{"tenure.store", event.store}, {"tenure.key", event.key}}, options);
    span->SetAttribute("tenure.worker", event.worker);
    if (!event.note.empty())
        span->SetAttribute("tenure.note", event.note);
    if (event.slot)
        span->SetAttribute("tenure.slot", static_cast<std::int64_t>(*event.slot));
    if (event.fencing_token != 0)
        span->SetAttribute("tenure.fencing_token", static_cast<std::int64_t>(event.fencing_token));
    return span;
}

/** @returns  its context, for a hold without a caller's span */
trace::SpanContext acquisition(trace::Tracer& tracer, Event const& event, Work const& work)
{
    trace::StartSpanOptions options;
    options.parent = work.caller;
    options.kind = trace::SpanKind::kClient;
    auto const began = event.at - std::chrono::duration_cast<Clock::duration>(event.duration);
    auto const steady = on<std::chrono::steady_clock>(began);
    auto const span = start(tracer, "tenure acquire", event, options, began, steady);
    if (auto const& error = event.error) {
        auto const name = error.category() == tenure_category()
                              ? std::string(to_string(static_cast<errc>(error.value())))
                              : error.category().name() + (":" + std::to_string(error.value()));
        span->SetAttribute("error.type", name);
        bool const expected =
            error == boost::asio::error::operation_aborted || (event.is_try && error == errc::timed_out);
        if (!expected)
            span->SetStatus(trace::StatusCode::kError, error.message());
    }
    span->End(ended_at(steady + event.duration));
    return span->GetContext();
}

void hold(trace::Tracer& tracer, Event const& event, trace::SpanContext const& acquired, Work& work)
{
    trace::StartSpanOptions options;
    options.parent = work.caller.IsValid() ? work.caller : acquired;
    work.granted = on<std::chrono::steady_clock>(event.at);
    work.hold = start(tracer, "tenure hold", event, options, event.at, work.granted);
    work.lost = false;
}

void happened(Event const& event, Work& work)
{
    if (!work.hold)
        return;
    auto const remaining = std::chrono::round<std::chrono::milliseconds>(event.remaining).count();
    work.hold->AddEvent(
        view_of("tenure." + std::string(to_string(event.kind))),
        SystemTimestamp(on<std::chrono::system_clock>(event.at)),
        {{"tenure.remaining_ms", static_cast<std::int64_t>(remaining)}});
    if (event.kind != Event::Kind::lost)
        return;
    work.lost = true;
    work.hold->SetAttribute("error.type", view_of(to_string(event.reason)));
    work.hold->SetStatus(trace::StatusCode::kError, view_of(describe(event.reason)));
}

void released(Event const& event, Work& work)
{
    if (!work.hold)
        return;
    if (!work.lost)
        work.hold->SetAttribute("tenure.reason", view_of(to_string(event.reason)));
    work.hold->End(ended_at(work.granted + event.duration));
    work.hold = SpanPtr();
}

void add(trace::Tracer& tracer, Event const& event)
{
    auto* const work = static_cast<Work*>(event.context.get());
    if (work == nullptr) // there was no memory for it
        return;
    switch (event.kind) {
    case Event::Kind::waited:
        // a grant follows, which says the same
        if (event.error)
            acquisition(tracer, event, *work);
        break;
    case Event::Kind::acquired:
        hold(tracer, event, acquisition(tracer, event, *work), *work);
        break;
    case Event::Kind::at_risk:
    case Event::Kind::renewed_late:
    case Event::Kind::lost:
        happened(event, *work);
        break;
    case Event::Kind::released:
        released(event, *work);
        break;
    }
}

} // namespace

void add_spans(StoreOptions& options, TracerProviderPtr const& provider)
{
    if (options.event_context)
        throw std::invalid_argument("StoreOptions::event_context is set: spans need it; leave it empty");
    options.event_context = [] { return std::make_shared<Work>(trace::Tracer::GetCurrentSpan()->GetContext()); };
    options.on_event = [tracer = provider->GetTracer("tenure", view_of(version())),
                        first = std::move(options.on_event)](Event const& event) {
        if (first)
            first(event);
        add(*tracer, event);
    };
}

} // namespace tenure::opentelemetry
