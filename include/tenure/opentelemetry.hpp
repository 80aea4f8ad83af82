// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/store.hpp>

#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/tracer_provider.h>

#include <concepts>
#include <utility>

/** Spans for OpenTelemetry: link `tenure::opentelemetry`. Inside the namespace `tenure`, write the name of the other
 * one with two colons in front. */
namespace tenure::opentelemetry
{

/// a source of tracers
using TracerProviderPtr = ::opentelemetry::nostd::shared_ptr<::opentelemetry::trace::TracerProvider>;
/// a span of the program
using SpanPtr = ::opentelemetry::nostd::shared_ptr<::opentelemetry::trace::Span>;

/** Makes spans of the acquisitions and leases of stores that are opened with these options.
 *
 *  ```
 *  tenure::StoreOptions options;
 *  tenure::opentelemetry::add_spans(options);
 *  auto const store = tenure::open_store(context, url, options);
 *  ```
 *  A span `tenure acquire` lasts from the call to the grant or the error, a span `tenure hold` from the grant to the
 * release. The parent of both is the span that was active in the thread that started the acquisition; without one, the
 * acquisition is the parent of the hold. A loss is an error of the hold, a failed renewal an event. Spans begin and end
 * in the thread of the log. docs/users/monitoring.md lists the attributes.
 *
 *  The options keep an `on_event` that they have: it is called first.
 *
 *  @param provider  default: the global one, as it is set at this call. Call `flush_log` before its `Shutdown`
 *  @throws std::invalid_argument if `options.event_context` is set */
void add_spans(
    StoreOptions& options, TracerProviderPtr const& provider = ::opentelemetry::trace::Provider::GetTracerProvider());

/** A deferred operation that starts while a span is active: see `in_span`. */
template <class Operation>
class InSpan
{
public:
    /** See `in_span`. */
    InSpan(SpanPtr span, Operation operation)
        : span_(std::move(span))
        , operation_(std::move(operation))
    {
    }

    /** Starts it. */
    template <class CompletionToken>
        requires std::invocable<Operation, CompletionToken>
    auto operator()(CompletionToken&& completion) &&
    {
        ::opentelemetry::trace::Scope const scope(span_);
        return std::move(operation_)(std::forward<CompletionToken>(completion));
    }

private:
    SpanPtr span_;
    Operation operation_;
};

/** Makes a span the parent of an operation that a coroutine awaits:
 *  `co_await tenure::opentelemetry::in_span(span, lock.async_acquire())`.
 *
 *  A `Scope` that stays open over a `co_await` is active for whatever the thread does meanwhile. This one is open only
 * while the operation starts. */
template <class Operation>
[[nodiscard]] InSpan<Operation> in_span(SpanPtr span, Operation operation)
{
    return InSpan<Operation>(std::move(span), std::move(operation));
}

} // namespace tenure::opentelemetry
