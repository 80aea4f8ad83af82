// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/conformance/expect.hpp>
#include <tenure/conformance/renewals.hpp>
#include <tenure/errc.hpp>
#include <tenure/log.hpp>
#include <tenure/store.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::conformance
{

/** Drives a backend without the engine on one thread: each function sends a request and waits for the answer. For the
 * suite, and for tests of features that only one store has.
 *
 *  @par Thread safety  One thread only. The event loop runs only inside these functions.
 */
class Client
{
public:
    /// makes the store under test over a runtime; called once, before any other function
    using MakeBackend = std::function<std::shared_ptr<Backend>(std::shared_ptr<backend::Runtime>)>;

    /** @throws std::invalid_argument if no backend is made */
    explicit Client(MakeBackend const& make)
        : Client(
              [](boost::asio::io_context& context) {
                  StoreOptions options;
                  options.log = silent_log_sink();
                  return backend::make_runtime(context, options);
              },
              make)
    {
    }
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;

    /** Shuts the backend down and runs the remaining work; reports on standard error if work is left. */
    ~Client()
    {
        on_strand([this] { backend_->shutdown(); });
        backend_.reset();
        context_.restart();
        context_.run_for(std::chrono::seconds{5});
        if (!context_.stopped())
            std::cerr << "tenure::conformance::Client: work was left after shutdown\n";
    }

    /** The backend, for requests that this class does not have; use it on the strand. */
    [[nodiscard]] Backend& backend() noexcept { return *backend_; }
    /** The present instant of the runtime's clock. */
    [[nodiscard]] Instant now() const noexcept { return runtime_->now(); }

    /** Sends the claim and returns the answer. */
    [[nodiscard]] backend::ClaimReply claim(backend::ClaimRequest const& request)
    {
        return ask<backend::ClaimReply>([&](auto handler) { backend_->claim(request, std::move(handler)); });
    }
    /** Claims with a ttl of 5 s. */
    [[nodiscard]] backend::ClaimReply claim(KeyRangePtr const& range, std::string const& owner, bool fencing = true)
    {
        return claim(backend::ClaimRequest{range, owner, std::chrono::seconds{5}, patience(), fencing, std::nullopt});
    }
    /** Renews one claim and returns the answer. */
    [[nodiscard]] backend::RenewReply renew(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl)
    {
        return renew_together({{claim, ttl, patience()}}).front();
    }
    /** Renews in one call, and waits for all answers; they are in the order of the requests. */
    [[nodiscard]] std::vector<backend::RenewReply> renew_together(std::vector<backend::RenewRequest> const& requests)
    {
        std::vector<LaterRenewReply> replies;
        on_strand([&] { replies = conformance::renew_together(*backend_, requests); });
        run_until([&] { return std::ranges::all_of(replies, [](auto const& reply) { return reply->has_value(); }); });
        std::vector<backend::RenewReply> result;
        for (auto const& reply : replies)
            result.push_back(std::move(**reply));
        return result;
    }
    /** Renews, and answers `Failure::unknown` if no reply comes in time; the reply is then dropped. */
    [[nodiscard]] backend::RenewReply
    renew_within(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl, std::chrono::milliseconds limit)
    {
        LaterRenewReply reply;
        on_strand([&] { reply = renew_one(*backend_, {claim, ttl, patience()}); });
        auto const end = std::chrono::steady_clock::now() + limit;
        run_until([&] { return reply->has_value() || std::chrono::steady_clock::now() >= end; });
        return *reply ? std::move(**reply)
                      : RenewReply(Failure::unknown(make_error_code(errc::store_unavailable), "no reply in time"));
    }
    /** Releases one claim and returns the answer. */
    [[nodiscard]] backend::ReleaseReply release(backend::ClaimPtr const& claim, bool notifications = true)
    {
        return ask<backend::ReleaseReply>(
            [&](auto handler) { backend_->release({claim, patience(), notifications}, std::move(handler)); });
    }
    /** Removes the owner from all keys of the range, with notifications. */
    [[nodiscard]] backend::WithdrawReply withdraw(KeyRangePtr const& range, std::string const& owner)
    {
        return ask<backend::WithdrawReply>(
            [&](auto handler) { backend_->withdraw({range, owner, patience(), true}, std::move(handler)); });
    }
    /** Asks whether the store can be used. */
    [[nodiscard]] backend::ReadyReply ready()
    {
        return ask<backend::ReadyReply>([&](auto handler) { backend_->ready(patience(), std::move(handler)); });
    }
    /** Returns the state of each key. */
    [[nodiscard]] backend::InspectReply inspect(KeyRangePtr const& range)
    {
        return ask<backend::InspectReply>(
            [&](auto handler) { backend_->inspect(range, patience(), std::move(handler)); });
    }
    /** Evicts the owner from a key, in the name "operator". */
    [[nodiscard]] backend::EvictReply evict(KeyRangePtr const& range, std::uint32_t index, std::string const& owner)
    {
        return ask<backend::EvictReply>(
            [&](auto handler) { backend_->evict({range, index, owner, "operator", patience()}, std::move(handler)); });
    }
    /** Returns the store's findings about itself. */
    [[nodiscard]] Findings examine(std::chrono::milliseconds ttl)
    {
        return ask<Findings>([&](auto handler) { backend_->examine(ttl, patience(), std::move(handler)); });
    }

    /** Sends several requests in one turn of the loop and waits for all answers, in the order of the requests. */
    template <class Reply, class Request>
    std::vector<Reply>
    ask_together(void (Backend::*function)(Request, backend::ReplyHandler<Reply>), std::vector<Request> const& requests)
    {
        std::vector<std::optional<Reply>> replies(requests.size());
        on_strand([&] {
            for (std::size_t i = 0; i < requests.size(); ++i)
                (backend_.get()->*function)(
                    requests[i], [&slot = replies[i]](Reply reply) { slot = std::move(reply); });
        });
        run_until([&] { return std::ranges::all_of(replies, [](auto const& reply) { return reply.has_value(); }); });
        std::vector<Reply> result;
        for (auto& reply : replies)
            result.push_back(std::move(*reply));
        return result;
    }

    /** Runs the function on the strand and returns when it has run. */
    void on_strand(std::function<void()> function)
    {
        bool done = false;
        runtime_->post([&] {
            function();
            done = true;
        });
        run_until([&done] { return done; });
    }

    /** Runs the loop until the condition holds. @throws std::runtime_error if it does not within the limit */
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = std::chrono::seconds{20})
    {
        auto const deadline = std::chrono::steady_clock::now() + limit;
        while (!condition()) {
            auto const left = deadline - std::chrono::steady_clock::now();
            if (left <= std::chrono::seconds{0})
                throw std::runtime_error("what was waited for did not happen in time");
            context_.restart();
            context_.run_one_for(std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds{50}));
        }
    }

    /** Runs the loop for `duration`. */
    void run_for(std::chrono::milliseconds duration)
    {
        auto const end = std::chrono::steady_clock::now() + duration;
        while (std::chrono::steady_clock::now() < end) {
            context_.restart();
            context_.run_until(end);
        }
    }

    /** Runs ready handlers for a while; true if no work is left then. */
    [[nodiscard]] bool idle()
    {
        context_.restart();
        context_.run_for(std::chrono::seconds{2});
        return context_.stopped();
    }

protected:
    /// makes another runtime over the client's context
    using MakeRuntime = std::function<std::shared_ptr<backend::Runtime>(boost::asio::io_context&)>;

    /** Overload with another runtime. */
    Client(MakeRuntime const& runtime, MakeBackend const& make)
        : runtime_(runtime(context_))
        , backend_(make(runtime_))
    {
        if (backend_ == nullptr)
            throw std::invalid_argument("tenure::conformance::Client: no backend was made");
    }

private:
    template <class Reply, class Start>
    Reply ask(Start start)
    {
        std::optional<Reply> reply;
        on_strand([&] { start(backend::ReplyHandler<Reply>([&reply](Reply answer) { reply = std::move(answer); })); });
        run_until([&reply] { return reply.has_value(); });
        return std::move(*reply);
    }
    [[nodiscard]] Instant patience() const { return now() + std::chrono::seconds{10}; }

    boost::asio::io_context context_;
    std::shared_ptr<backend::Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
};

/** The claim of a grant. */
[[nodiscard]] inline backend::ClaimPtr claim_of(KeyRangePtr range, std::string owner, backend::Granted const& granted)
{
    auto claim = std::make_shared<backend::Claim>();
    claim->range = std::move(range);
    claim->owner = std::move(owner);
    claim->index = granted.index;
    claim->fencing_token = granted.fencing_token;
    claim->handle = granted.handle;
    return claim;
}

/** An owner as the library writes it; `number` tells owners apart. */
[[nodiscard]] inline std::string owner(unsigned number)
{
    auto const digits = std::to_string(number);
    return "worker/" + std::string(32 - digits.size(), '0') + digits;
}

} // namespace tenure::conformance
