// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_context.hpp"

#include "runtime/names.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/wire/command.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** Some of the renewals of a call, which share a script call: all of plain keys, or all of places. The call is composed
 * when it is written: a lease that ended while the batch waited must not be written again. */
class RenewalBatch final : public resp::LateCommand
{
public:
    struct Pending {
        RenewRequest request;
        /// position among the requests of its call
        std::size_t number;
    };
    using Handler = std::shared_ptr<RenewHandler const>;

    /** @param handler  shared by all batches of the call */
    RenewalBatch(ServerPtr server, Handler handler)
        : server_(std::move(server))
        , handler_(std::move(handler))
    {
    }

    [[nodiscard]] std::vector<Pending>& pending() noexcept { return pending_; }
    [[nodiscard]] Handler const& handler() const noexcept { return handler_; }

    [[nodiscard]] ScriptAttempt& attempt() noexcept { return attempt_; }

    /** The earliest `not_after`. */
    [[nodiscard]] Instant not_after() const noexcept;

    /** Moves leases that have ended to those that `answer_ended` answers. */
    void drop_ended();

    [[nodiscard]] std::optional<resp::Command> compose(Instant now) override;

    /** Answers the leases that ended before they were written. */
    void answer_ended();

    /** Answers all renewals in one call of the handler, those of ended leases included. */
    template <class ReplyTo>
    void answer(ReplyTo reply_to)
    {
        answer_ended();
        auto const answered = std::exchange(pending_, {});
        call_handler(answered, reply_to);
    }

private:
    [[nodiscard]] Script const& script(bool notes_ttl) const;

    template <class ReplyTo>
    void call_handler(std::vector<Pending> const& answered, ReplyTo reply_to)
    {
        if (answered.empty())
            return;
        std::vector<RenewAnswer> answers;
        answers.reserve(answered.size());
        for (auto const& [request, number] : answered)
            answers.push_back({number, reply_to(request)});
        (*handler_)(answers);
    }

    ServerPtr server_;
    Handler handler_;
    std::vector<Pending> pending_;
    /// leases that have ended, without an answer so far
    std::vector<Pending> ended_;
    ScriptAttempt attempt_;
};

} // namespace tenure::redis
