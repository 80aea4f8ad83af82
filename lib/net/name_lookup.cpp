// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// NameLookup: getaddrinfo on a detached thread.
#include "name_lookup.hpp"

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

/// limit of threads of one process that wait for a name server; each ends when its lookup returns
constexpr int most_threads = 64;

/** Counts the running threads. A child of fork has none of its parent's. */
class Threads
{
public:
    /** @returns false if the limit is reached */
    [[nodiscard]] bool begin() noexcept
    {
        std::uint64_t const now = engine::fork_generation();
        if (generation_.exchange(now) != now)
            count_.store(0);
        if (count_.fetch_add(1) < most_threads)
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

struct NameLookup::Shared {
    /// null after the lookup was destroyed. Written on the strand, under `handing_over`; threads also read it under
    /// that mutex
    NameLookup* lookup = nullptr;
};

NameLookup::NameLookup(std::shared_ptr<Runtime> runtime, std::string const& host, Handler handler)
    : runtime_(std::move(runtime))
    , handler_(std::move(handler))
    , shared_(std::make_shared<Shared>())
{
    shared_->lookup = this;
    timer_ = runtime_->call_at(runtime_->now() + patience, [weak = std::weak_ptr(shared_)] {
        if (auto const shared = weak.lock(); shared && shared->lookup != nullptr) {
            shared->lookup->timer_ = 0;
            shared->lookup->answered(asio::error::timed_out, {});
        }
    });
    look_up(host);
}

NameLookup::~NameLookup()
{
    runtime_->cancel(timer_);
    std::lock_guard const lock(handing_over);
    shared_->lookup = nullptr;
}

void NameLookup::look_up(std::string const& host)
{
    auto const answer = [this](error_code error, Addresses addresses) {
        runtime_->post([shared = shared_, error, addresses = std::move(addresses)]() mutable {
            if (shared->lookup != nullptr)
                shared->lookup->answered(error, std::move(addresses));
        });
    };
    error_code not_numeric;
    if (auto const address = asio::ip::make_address(host, not_numeric); !not_numeric) {
        answer({}, {address});
    } else if (!threads.begin()) {
        answer(asio::error::try_again, {});
    } else {
        try {
            start_library_thread("tenure-lookup", [shared = shared_, host] {
                run(host, *shared);
                threads.end();
            }).detach();
        } catch (std::system_error const& error) {
            threads.end();
            answer(error_code(error.code().value(), boost::system::system_category()), {});
        }
    }
}

void NameLookup::run(std::string const& host, Shared& shared) noexcept
try {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    auto const error = error_of(::getaddrinfo(host.c_str(), nullptr, &hints, &found));
    auto addresses = addresses_in(found);
    if (found != nullptr)
        ::freeaddrinfo(found);
    // The destructor of the lookup waits for this lock, so the runtime exists for the call.
    std::lock_guard const lock(handing_over);
    if (shared.lookup != nullptr)
        shared.lookup->runtime_->post(
            [shared = shared.lookup->shared_, error, addresses = std::move(addresses)]() mutable {
                if (shared->lookup != nullptr)
                    shared->lookup->answered(error, std::move(addresses));
            });
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the timer ends the wait
}

void NameLookup::answered(error_code error, Addresses addresses)
{
    runtime_->cancel(std::exchange(timer_, 0));
    // the handler may destroy this lookup
    if (auto const handler = std::exchange(handler_, nullptr))
        handler(error, std::move(addresses));
}

} // namespace tenure::net
