// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/contention.hpp"

#include "harness/child.hpp"
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

constexpr std::chrono::milliseconds ttl{10'000};

/** One for all contenders, whichever process they are in: what is granted between the two is counted. */
struct Span {
    Steady::time_point begin;
    Steady::time_point end;
};

/** The run begins when all processes have long connected. */
Span span_from_now(double seconds)
{
    auto const begin = Steady::now() + std::chrono::milliseconds{500};
    return {begin, begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds))};
}

/** The observations of one contender; its coroutine writes them, `watch` reads them at the end. */
struct Contender {
    /// milliseconds, one for each grant
    std::vector<double> waits;
    /// set while it waits
    std::optional<Steady::time_point> waiting_since;
    std::exception_ptr failure;
};

/** The part of a wait that lies within the run. */
double milliseconds_within(Span span, Steady::time_point from, Steady::time_point to)
{
    return std::chrono::duration<double, std::milli>(std::min(to, span.end) - std::max(from, span.begin)).count();
}

/** `Source` is a Lock or a SlotPool; ends with its first failure. */
template <class Source>
asio::awaitable<void> take_turns(Source source, Span span, std::chrono::milliseconds hold, Contender& contender)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    tenure::AcquireOptions options;
    options.wait = std::chrono::milliseconds::max();
    for (;;) {
        contender.waiting_since = Steady::now();
        auto lease = co_await source.async_acquire(options);
        auto const now = Steady::now();
        if (now >= span.begin && now < span.end)
            contender.waits.push_back(milliseconds_within(span, *contender.waiting_since, now));
        contender.waiting_since.reset();
        if (hold.count() > 0) {
            timer.expires_after(hold);
            co_await timer.async_wait(asio::deferred);
        }
        auto const outcome = co_await lease.async_release();
        if (outcome != tenure::ReleaseOutcome::released)
            throw std::runtime_error("a release ended as " + std::string(to_string(outcome)));
    }
}

/** Appends grants, longest wait and p99 of the waits. */
void append(Measurement& result, Contender& contender, Span span)
{
    auto& waits = contender.waits;
    auto const grants = waits.size();
    if (contender.waiting_since && *contender.waiting_since < span.end)
        waits.push_back(milliseconds_within(span, *contender.waiting_since, span.end));
    std::sort(waits.begin(), waits.end());
    auto const p99 = waits.empty() ? 0 : waits[waits.size() * 99 / 100];
    result.insert(result.end(), {static_cast<double>(grants), waits.empty() ? 0 : waits.back(), p99});
}

/** Until the end of the run, while its contenders take turns. */
asio::awaitable<void> watch(std::vector<Contender>& contenders, Span span, Measurement& result)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(span.end);
    co_await timer.async_wait(asio::deferred);
    for (auto& contender : contenders) {
        if (contender.failure)
            std::rethrow_exception(contender.failure);
        append(result, contender, span);
    }
}

void start(tenure::Store const& store, std::string const& name, Contention const& contention, Span span, Contender& own)
{
    auto const options = lease_options(contention.features);
    auto const spawn = [&](auto source) {
        asio::co_spawn(
            store.get_executor(), take_turns(std::move(source), span, contention.hold, own),
            [&own](std::exception_ptr failure) { own.failure = failure; });
    };
    if (contention.slots == 1)
        spawn(tenure::Lock{store, {.key = name, .ttl = ttl, .lease = options, .fair = contention.features.fair}});
    else
        spawn(tenure::SlotPool{store, {name + ":", contention.slots, ttl, options}});
}

/** That many contenders in this process. @returns three values for each, as `append` has them */
Measurement
contend_here(std::string const& url, std::string const& name, Contention const& contention, Span span, unsigned count)
{
    Measurement result;
    std::vector<Contender> contenders(count);
    run_session(url, [&](tenure::Store first) {
        start(first, name, contention, span, contenders.front());
        for (unsigned number = 1; number < count; ++number)
            start(
                tenure::open_store(first.get_executor(), url, store_options()), name, contention, span,
                contenders[number]);
        return watch(contenders, span, result);
    });
    return result;
}

} // namespace

Measurement contend(std::string const& url, Contention const& contention)
{
    // the keys of the run before are held until their ttl is over
    auto const name = "bench:fair:" + std::to_string(::getpid());
    auto const span = span_from_now(contention.seconds);
    auto const count = contention.contenders;
    Measurement each;
    if (url.starts_with("memory:")) {
        each = contend_here(url, name, contention, span, count);
    } else {
        std::vector<Child> children;
        children.reserve(count);
        for (unsigned number = 0; number < count; ++number)
            children.emplace_back(Place::any, [&] { return contend_here(url, name, contention, span, 1); });
        for (auto& child : children) {
            auto const values = child.result(contention.seconds);
            each.insert(each.end(), values.begin(), values.end());
        }
    }
    Measurement result(first_contender);
    for (std::size_t at = 0; at < each.size(); at += 3) {
        result[total_grants] += each[at];
        result[longest_wait] = std::max(result[longest_wait], each[at + 1]);
        result[wait_p99] = std::max(result[wait_p99], each[at + 2]);
        result.push_back(each[at]);
    }
    return result;
}

} // namespace bench::library
