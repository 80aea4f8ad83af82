// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/expect_failure.hpp"
#include "harness/redis_server.hpp"
#include "harness/renewals.hpp"

#include "redis/stream.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_config.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::test
{

/** A backend alone, without engine and keeper, over real sockets. Its event loop runs only inside of these
 * functions. */
class LiveBackend
{
public:
    explicit LiveBackend(RedisConfig const& config, redis::StreamFactory streams = redis::socket_streams());
    explicit LiveBackend(RedisServer const& server);
    /** The backend of any store. */
    explicit LiveBackend(std::function<std::shared_ptr<Backend>(std::shared_ptr<Runtime>)> const& make);
    LiveBackend(LiveBackend const&) = delete;
    LiveBackend& operator=(LiveBackend const&) = delete;
    /** Shuts the backend down and runs what is left; says so on standard error if anything stays. */
    ~LiveBackend();

    [[nodiscard]] Backend& backend() noexcept { return *backend_; }
    [[nodiscard]] Instant now() const noexcept { return runtime_->now(); }
    /** How many log lines hold `part`. */
    [[nodiscard]] std::size_t logged(std::string_view part) const;

    [[nodiscard]] ClaimReply claim(ClaimRequest const& request);
    [[nodiscard]] ClaimReply claim(KeyRangePtr const& range, std::string const& owner, bool fencing = true);
    [[nodiscard]] RenewReply renew(ClaimPtr const& claim, std::chrono::milliseconds ttl);
    /** Renews in one call, and waits for all answers; they are in the order of the requests. */
    [[nodiscard]] std::vector<RenewReply> renew_together(std::vector<RenewRequest> const& requests);
    /** Renews, and answers `Failure::unknown` if no reply comes in time; the reply is then dropped. */
    [[nodiscard]] RenewReply
    renew_within(ClaimPtr const& claim, std::chrono::milliseconds ttl, std::chrono::milliseconds limit);
    [[nodiscard]] ReleaseReply release(ClaimPtr const& claim, bool notifications = true);
    [[nodiscard]] WithdrawReply withdraw(KeyRangePtr const& range, std::string const& owner);
    [[nodiscard]] ReadyReply ready();
    [[nodiscard]] InspectReply inspect(KeyRangePtr const& range);
    [[nodiscard]] EvictReply evict(KeyRangePtr const& range, std::uint32_t index, std::string const& owner);
    [[nodiscard]] Findings examine(std::chrono::milliseconds ttl);

    /** Asks several things in one turn of the loop and waits for all answers, in the order of asking. */
    template <class Reply, class Request>
    std::vector<Reply>
    ask_together(void (Backend::*function)(Request, ReplyHandler<Reply>), std::vector<Request> const& requests)
    {
        std::vector<std::optional<Reply>> replies(requests.size());
        on_strand([&] {
            for (std::size_t i = 0; i < requests.size(); ++i)
                (backend_.get()->*function)(
                    requests[i], [&slot = replies[i]](Reply reply) { slot = std::move(reply); });
        });
        run_until([&] {
            for (auto const& reply : replies)
                if (!reply)
                    return false;
            return true;
        });
        std::vector<Reply> result;
        for (auto& reply : replies)
            result.push_back(std::move(*reply));
        return result;
    }

    /** Runs the function on the strand and returns when it has run. */
    void on_strand(std::function<void()> function);

    /** Runs the loop until the condition holds. @throws std::runtime_error if it does not within the limit */
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = std::chrono::seconds{20});

    /** Runs the loop for that long. */
    void run_for(std::chrono::milliseconds duration);

    /** Runs what is ready for a while; true if no work is left then. */
    [[nodiscard]] bool idle();

private:
    template <class Reply, class Start>
    Reply ask(Start start)
    {
        std::optional<Reply> reply;
        on_strand([&] { start(ReplyHandler<Reply>([&reply](Reply answer) { reply = std::move(answer); })); });
        run_until([&reply] { return reply.has_value(); });
        return std::move(*reply);
    }
    [[nodiscard]] Instant patience() const { return now() + std::chrono::seconds{10}; }

    asio::io_context context_;
    std::vector<std::string> lines_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
};

/** The alternative that was expected. @throws std::runtime_error naming the one that is there instead */
template <class Wanted, class Reply>
Wanted const& expect(Reply const& reply)
{
    if (auto const* const wanted = std::get_if<Wanted>(&reply))
        return *wanted;
    std::string text = "alternative " + std::to_string(reply.index());
    std::visit(
        [&text](auto const& other) {
            if constexpr (requires { other.detail; })
                text += ": " + other.error.message() + ": " + other.detail;
        },
        reply);
    throw std::runtime_error("another reply than expected: " + text);
}

[[nodiscard]] RedisConfig config_of(RedisServer const& server);

/** The claim that a grant stands for. */
[[nodiscard]] ClaimPtr claim_of(KeyRangePtr range, std::string owner, std::uint32_t index);

/** An owner as the library writes it; `number` tells owners apart. */
[[nodiscard]] std::string owner(unsigned number);

} // namespace tenure::test
