// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Tracing: the events of a store become spans, one JSON object to a line, in the terms of OpenTelemetry. A span
// tenure.acquire lasts from the call to the grant, a span tenure.hold from the grant to the release.
//   traced_worker [STORE_URL]      default: file:
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Text as a string of JSON. */
std::string json_text(std::string_view text)
{
    std::ostringstream out;
    out << '"';
    for (auto const c : text) {
        if (c == '"' || c == '\\')
            out << '\\' << c;
        else if (static_cast<unsigned char>(c) < 0x20)
            out << "\\u00" << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(c);
        else
            out << c;
    }
    out << '"';
    return out.str();
}

/** Writes spans. Its calls come one at a time, from the thread of tenure's log. */
class SpanLog
{
public:
    void add(tenure::Event const& event)
    {
        using Kind = tenure::Event::Kind;
        switch (event.kind) {
        case Kind::waited:
            // a grant follows, which says the same
            if (event.error)
                write(acquisition(event), event.at, "ERROR", event.error.message());
            break;
        case Kind::acquired: {
            auto const span = acquisition(event);
            write(span, event.at, "OK");
            holds_.insert_or_assign(key_of(event), hold(event, span));
            break;
        }
        case Kind::at_risk:
        case Kind::renewed_late:
        case Kind::lost:
            if (auto const found = holds_.find(key_of(event)); found != holds_.end()) {
                add_event(found->second, event);
                found->second.lost = found->second.lost || event.kind == Kind::lost;
            }
            break;
        case Kind::released:
            if (auto const found = holds_.find(key_of(event)); found != holds_.end()) {
                auto const span = std::move(found->second);
                holds_.erase(found);
                write(span, event.at, span.lost ? "ERROR" : "OK", tenure::describe(event.reason));
            }
            break;
        }
    }

private:
    struct Span {
        std::string trace;
        std::string id;
        std::string parent;
        std::string name;
        tenure::Instant began;
        std::string attributes;
        std::string events;
        bool lost = false;
    };

    Span acquisition(tenure::Event const& event)
    {
        return {random_id(16), random_id(8), {}, "tenure.acquire", event.at - event.duration, attributes_of(event), {}};
    }
    Span hold(tenure::Event const& event, Span const& acquisition)
    {
        return {acquisition.trace, random_id(8), acquisition.id, "tenure.hold", event.at, attributes_of(event), {}};
    }

    static std::pair<std::string, std::uint64_t> key_of(tenure::Event const& event)
    {
        return {event.key, event.fencing_token};
    }

    static std::string attributes_of(tenure::Event const& event)
    {
        auto text = R"("tenure.key":)" + json_text(event.key) + R"(,"tenure.worker":)" + json_text(event.worker) +
                    R"(,"tenure.store":)" + json_text(event.store);
        if (event.slot)
            text += R"(,"tenure.slot":)" + std::to_string(*event.slot);
        if (event.fencing_token != 0)
            text += R"(,"tenure.fencing_token":")" + std::to_string(event.fencing_token) + '"';
        return text;
    }

    static void add_event(Span& span, tenure::Event const& event)
    {
        span.events += (span.events.empty() ? "" : ",") + (R"({"name":)" + json_text(to_string(event.kind))) +
                       R"(,"timeUnixNano":")" + unix_nano(event.at) + R"(","tenure.remaining_ms":)" +
                       std::to_string(std::chrono::round<std::chrono::milliseconds>(event.remaining).count()) + '}';
    }

    static void write(Span const& span, tenure::Instant ended, std::string_view status, std::string_view message = {})
    {
        std::cout << R"({"traceId":")" << span.trace << R"(","spanId":")" << span.id << R"(","parentSpanId":")"
                  << span.parent << R"(","name":")" << span.name << R"(","startTimeUnixNano":")"
                  << unix_nano(span.began) << R"(","endTimeUnixNano":")" << unix_nano(ended) << R"(","status":")"
                  << status << R"(","message":)" << json_text(message) << R"(,"attributes":{)" << span.attributes
                  << R"(},"events":[)" << span.events << "]}" << std::endl;
    }

    /** The wall clock at this instant; tenure's clock counts from the start of the machine. */
    static std::string unix_nano(tenure::Instant instant)
    {
        auto const wall = std::chrono::system_clock::now() - (tenure::Clock::now() - instant);
        return std::to_string(std::chrono::nanoseconds(wall.time_since_epoch()).count());
    }

    std::string random_id(int bytes)
    {
        std::ostringstream id;
        for (int byte = 0; byte < bytes; ++byte)
            id << std::hex << std::setw(2) << std::setfill('0') << (random_() & 0xffU);
        return id.str();
    }

    std::random_device random_;
    /// by key and fencing token
    std::map<std::pair<std::string, std::uint64_t>, Span> holds_;
};

asio::awaitable<void> work(tenure::SlotPool pool)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    {
        tenure::Slot slot = co_await pool.async_acquire();
        pause.expires_after(20ms);
        co_await pause.async_wait(asio::deferred);
        co_await slot.async_release();
    }
    // a slot that a person takes away: its span ends with an error
    tenure::Slot slot = co_await pool.async_acquire();
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
    asio::io_context context;
    // shared with the hook: events may arrive after the store has ended
    auto const spans = std::make_shared<SpanLog>();
    tenure::StoreOptions options;
    options.log_level = tenure::LogLevel::error;
    options.on_event = [spans](tenure::Event const& event) { spans->add(event); };
    {
        auto const store = tenure::open_store(context, argc > 1 ? argv[1] : "file:", std::move(options));
        tenure::SlotPool const pool(store, {.prefix = "traced:", .size = 2, .ttl = 300ms});
        asio::co_spawn(context, work(pool), report);
        context.run();
    }
    // the last events are written before the program ends
    return tenure::flush_log(10s) ? 0 : 1;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
