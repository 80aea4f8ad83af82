// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/conformance/expect.hpp>
#include <tenure/conformance/renewals.hpp>
#include <tenure/inspection.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
    explicit Client(MakeBackend const& make);
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;

    /** Shuts the backend down and runs the remaining work; reports on standard error if work is left. */
    ~Client();

    /** The backend, for requests that this class does not have; use it on the strand. */
    [[nodiscard]] Backend& backend() noexcept { return *backend_; }
    /** The present instant of the runtime's clock. */
    [[nodiscard]] Instant now() const noexcept { return runtime_->now(); }

    /** Sends the claim and returns the answer. */
    [[nodiscard]] backend::ClaimReply claim(backend::ClaimRequest const& request);
    /** Claims with a ttl of 5 s. */
    [[nodiscard]] backend::ClaimReply claim(KeyRangePtr const& range, std::string const& owner, bool fencing = true);
    /** Renews one claim and returns the answer. */
    [[nodiscard]] backend::RenewReply renew(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl);
    /** Renews in one call, and waits for all answers; they are in the order of the requests. */
    [[nodiscard]] std::vector<backend::RenewReply> renew_together(std::vector<backend::RenewRequest> const& requests);
    /** Renews, and answers `Failure::unknown` if no reply comes in time; the reply is then dropped. */
    [[nodiscard]] backend::RenewReply
    renew_within(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl, std::chrono::milliseconds limit);
    /** Releases one claim and returns the answer. */
    [[nodiscard]] backend::ReleaseReply release(backend::ClaimPtr const& claim, bool notifications = true);
    /** Removes the owner from all keys of the range, with notifications. */
    [[nodiscard]] backend::WithdrawReply withdraw(KeyRangePtr const& range, std::string const& owner);
    /** Asks whether the store can be used. */
    [[nodiscard]] backend::ReadyReply ready();
    /** Returns the state of each key.
     *  @param names_only  as `InspectRequest::names_only` */
    [[nodiscard]] backend::InspectReply inspect(KeyRangePtr const& range, bool names_only = false);
    /** Evicts the owner from a key, in the name "operator". */
    [[nodiscard]] backend::EvictReply evict(KeyRangePtr const& range, std::uint32_t index, std::string const& owner);
    /** Lists the keys with the prefix. */
    [[nodiscard]] backend::ListReply list(std::string const& prefix, std::size_t most = 1000);
    /** Returns the store's findings about itself. */
    [[nodiscard]] Findings examine(std::chrono::milliseconds ttl);

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
    void on_strand(std::function<void()> const& function);
    /** Runs the loop until the condition holds. @throws std::runtime_error if it does not within the limit */
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = std::chrono::seconds{20});
    /** Runs the loop for `duration`. */
    void run_for(std::chrono::milliseconds duration);
    /** Runs ready handlers for a while; true if no work is left then. */
    [[nodiscard]] bool idle();

protected:
    /// makes another runtime over the client's context
    using MakeRuntime = std::function<std::shared_ptr<backend::Runtime>(boost::asio::io_context&)>;

    /** Overload with another runtime. */
    Client(MakeRuntime const& runtime, MakeBackend const& make);

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
[[nodiscard]] backend::ClaimPtr claim_of(KeyRangePtr range, std::string owner, backend::Granted const& granted);

/** An owner as the library writes it; `number` tells owners apart. */
[[nodiscard]] std::string owner(unsigned number);

} // namespace tenure::conformance
