// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// NameLookup: getaddrinfo on a detached thread.
#include "name_lookup.hpp"

#include "system_limits.hpp"

#include "runtime/fork_guard.hpp"
#include "runtime/library_thread.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/udp.hpp>

#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

namespace tenure::net
{

namespace
{

/** Counts the running threads. A child of fork has none of its parent's. */
class Threads
{
public:
    /** @returns false if the limit is reached */
    [[nodiscard]] bool begin() noexcept
    {
        std::uint64_t const now = fork_generation();
        if (generation_.exchange(now) != now)
            count_.store(0);
        if (count_.fetch_add(1) < most_lookups)
            return true;
        count_.fetch_sub(1);
        return false;
    }
    void end() noexcept { count_.fetch_sub(1); }

private:
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<int> count_{0};
};

constinit Threads threads;

/// Guards every `Shared::lookup`. A thread owns it only while it delivers its answer.
constinit std::mutex handing_over;

/// A fork waits until no thread delivers an answer: the child would inherit that thread's locks.
[[maybe_unused]] int const held_over_forks =
    ::pthread_atfork([] { handing_over.lock(); }, [] { handing_over.unlock(); }, [] { handing_over.unlock(); });

error_code error_of(int result) noexcept
{
    namespace error = asio::error;
    switch (result) {
    case 0:
        return {};
    case EAI_AGAIN:
        return error::host_not_found_try_again;
    case EAI_FAIL:
        return error::no_recovery;
    case EAI_MEMORY:
        return error::no_memory;
    case EAI_SYSTEM:
        return {errno, boost::system::system_category()};
    default:
        return error::host_not_found;
    }
}

/** Without descriptors the system's resolver fails like a name service that is down. */
StreamError failure_of(int result)
{
    auto const error = error_of(result);
    if (!error)
        return {};
    if (auto const limit = lack_of_descriptors())
        return {limit, explain_system_error(limit), false};
    return {error, {}, false};
}

StreamError too_many_lookups()
{
    return {
        asio::error::try_again,
        std::to_string(most_lookups) +
            " lookups of names are under way in this process, which is its limit: check the name server, or use an "
            "address instead of a name",
        false};
}

NameLookup::Addresses addresses_in(addrinfo const* found)
{
    NameLookup::Addresses addresses;
    for (auto const* one = found; one != nullptr; one = one->ai_next) {
        // an endpoint of any protocol can parse the system's form of an address
        asio::ip::udp::endpoint endpoint;
        if (one->ai_addrlen <= endpoint.capacity()) {
            std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
            addresses.push_back(endpoint.address());
        }
    }
    return addresses;
}

} // namespace

std::shared_ptr<void> take_lookup_place()
{
    if (!threads.begin())
        return nullptr;
    return {&threads, [](Threads* taken_from) { taken_from->end(); }};
}

struct NameLookup::Shared {
    /// null after the lookup was destroyed. Written on the strand, under `handing_over`; threads also read it under
    /// that mutex
    NameLookup* lookup = nullptr;
};

NameLookup::NameLookup(std::shared_ptr<Runtime> runtime, std::string const& host, Handler handler)
    : runtime_(std::move(runtime))
    , handler_(std::move(handler))
    , shared_(std::make_shared<Shared>())
    , timer_(*runtime_)
{
    shared_->lookup = this;
    timer_.after(patience, std::weak_ptr(shared_), [](Shared& shared) {
        // never null here, because the destructor of the lookup cancels the timer
        shared.lookup->answered({asio::error::timed_out, {}, false}, {});
    });
    look_up(host);
}

NameLookup::~NameLookup()
{
    std::lock_guard const lock(handing_over);
    shared_->lookup = nullptr;
}

void NameLookup::look_up(std::string const& host)
{
    auto const answer = [this](StreamError error, Addresses addresses) {
        runtime_->post([shared = shared_, error = std::move(error), addresses = std::move(addresses)]() mutable {
            if (shared->lookup != nullptr)
                shared->lookup->answered(error, std::move(addresses));
        });
    };
    error_code not_numeric;
    if (auto const address = asio::ip::make_address(host, not_numeric); !not_numeric) {
        answer({}, {address});
        return;
    }
    auto place = take_lookup_place();
    if (place == nullptr) {
        answer(too_many_lookups(), {});
        return;
    }
    try {
        start_library_thread("tenure-lookup", [shared = shared_, host, place = std::move(place)] {
            run(host, *shared);
        }).detach();
    } catch (std::system_error const& error) {
        error_code const code(error.code().value(), boost::system::system_category());
        answer(
            {code, "no thread can be started for the lookup (" + code.message() + "): raise the limit of threads",
             false},
            {});
    }
}

void NameLookup::run(std::string const& host, Shared& shared) noexcept
try {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto error = failure_of(::getaddrinfo(host.c_str(), nullptr, &hints, &found));
    auto addresses = addresses_in(found);
    if (found != nullptr)
        ::freeaddrinfo(found);
    // The destructor of the lookup waits for this lock, so the runtime exists for the call.
    std::lock_guard const lock(handing_over);
    if (shared.lookup != nullptr)
        shared.lookup->runtime_->post(
            [shared = shared.lookup->shared_, error = std::move(error), addresses = std::move(addresses)]() mutable {
                if (shared->lookup != nullptr)
                    shared->lookup->answered(error, std::move(addresses));
            });
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the timer ends the wait
}

void NameLookup::answered(StreamError const& error, Addresses addresses)
{
    timer_.cancel();
    // the handler may destroy this lookup
    if (auto const handler = std::exchange(handler_, nullptr))
        handler(error, std::move(addresses));
}

} // namespace tenure::net
