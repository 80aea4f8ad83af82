// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: batches of renewals, and the script call for leases that are still held.
#include "renewals.hpp"

#include "replies.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/shares/scripts.hpp"
#include "store/redis/wire/command.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace tenure::redis
{

namespace
{

/** The command waits for its turn on a working connection, before everything but other renewals. */
resp::Command as_renewal(resp::Command command)
{
    command.set_urgency(resp::Urgency::renewal).need_connection();
    return command;
}

/** Renewals that share a script call: all of plain keys, or all of places. The call is composed when it is written: a
 *  lease that ended while the batch waited must not be written again. */
class RenewalBatch final : public resp::LateCommand
{
public:
    /// shared by all batches of a call
    using Handler = std::shared_ptr<RenewHandler const>;

    RenewalBatch(ServerPtr server, Handler handler)
        : server_(std::move(server))
        , handler_(std::move(handler))
    {
    }

    void add(std::vector<RenewRequest> requests)
    {
        pending_.reserve(requests.size());
        for (auto& request : requests) {
            server_->channel()->note_ttl(request.ttl);
            pending_.push_back({std::move(request), pending_.size()});
        }
    }

    /** Sends all renewals of a call, in batches. */
    void begin()
    {
        drop_ended();
        answer_ended();
        if (pending_.empty())
            return;
        if (!server_->channel()->connected()) {
            auto const why = Failure::not_sent(
                errc::store_unavailable, server_->where() + ": not connected: " + server_->channel()->last_error());
            answer([&why](RenewRequest const&) { return RenewReply(why); });
            return;
        }
        // what the renewals of a call have in common
        auto const kind_of = [this](Pending const& pending) {
            auto const& range = *pending.request.claim->range;
            return std::tuple(pending.request.lifetime(), range.shares, server_->is_redisson(range));
        };
        if (!std::ranges::is_sorted(pending_, {}, kind_of)) // not needed if all leases have the same ttl
            std::ranges::stable_sort(pending_, {}, kind_of);
        std::shared_ptr<RenewalBatch> batch;
        for (auto& pending : pending_) {
            if (batch &&
                (batch->pending_.size() == renewals_per_call || kind_of(batch->pending_.front()) != kind_of(pending)))
                std::exchange(batch, nullptr)->send();
            if (!batch)
                batch = std::make_shared<RenewalBatch>(server_, handler_);
            batch->pending_.push_back(std::move(pending));
        }
        batch->send();
    }

    [[nodiscard]] std::optional<resp::Command> compose(Instant) override
    {
        drop_ended();
        if (pending_.empty())
            return std::nullopt;
        bool const notes_ttl = server_->delays_after_failover();
        auto const& first = pending_.front().request;
        // apart from the command, which would write their number after each of them
        resp::EncodedArguments arguments;
        arguments.reserve(128 + pending_.size() * (first.claim->range->prefix.size() + first.claim->owner.size() + 32));
        arguments.add(pending_.size() + (notes_ttl ? 1 : 0));
        if (notes_ttl)
            arguments.add(server_->marker());
        for (auto const& [request, number] : pending_)
            arguments.add(resp::KeyOf{*request.claim->range, request.claim->index});
        arguments.add(first.lifetime().count());
        for (auto const& [request, number] : pending_)
            arguments.add(request.claim->owner);
        resp::Command command(attempt_.begin(script(notes_ttl), *server_->channel()));
        command.add(arguments);
        return command;
    }

private:
    struct Pending {
        RenewRequest request;
        /// position among the requests of its call
        std::size_t number;
    };

    /** The earliest `not_after`. */
    [[nodiscard]] Instant not_after() const noexcept
    {
        auto earliest = Instant::max();
        for (auto const& [request, number] : pending_)
            earliest = std::min(earliest, request.not_after);
        return earliest;
    }

    /** Moves leases that have ended to those that `answer_ended` answers. */
    void drop_ended()
    {
        std::erase_if(pending_, [this](Pending& pending) {
            if (!pending.request.claim->mark.ended.load(std::memory_order_acquire))
                return false;
            ended_.push_back(std::move(pending));
            return true;
        });
    }

    [[nodiscard]] Script const& script(bool notes_ttl) const
    {
        auto const& range = *pending_.front().request.claim->range;
        if (range.shares)
            return place_scripts::renew().for_server(*server_);
        if (server_->is_redisson(range))
            return redisson::renew();
        return notes_ttl ? scripts::renew_noting_ttl() : scripts::renew();
    }

    void send()
    {
        auto const& range = *pending_.front().request.claim->range;
        bool const is_string = !range.shares && !server_->is_redisson(range);
        if (pending_.size() == 1 && server_->has_set_ifeq() && !server_->delays_after_failover() && is_string)
            send_natively();
        else
            send_script();
    }

    void send_script()
    {
        server_->channel()->execute(
            as_renewal(resp::Command(shared_from_this())), Deadline(not_after()),
            [self = shared(*this)](Outcome&& outcome) { self->answered(outcome); });
    }

    void answered(Outcome const& outcome)
    {
        answer_ended();
        if (pending_.empty())
            return;
        if (outcome.delivery == Delivery::not_sent && !outcome.fatal && server_->channel()->connected() &&
            not_after() <= server_->runtime().now()) {
            too_late();
            return;
        }
        if (attempt_.goes_on(*server_->channel(), outcome)) {
            send_script();
            return;
        }
        if (pending_.size() > 1 && concerns_single_key(outcome)) {
            retry_each_alone(server_->refuse(outcome.reply, "renewal"));
            return;
        }
        auto const flags = read_renewed_flags(outcome.reply, pending_.size());
        std::size_t i = 0;
        answer([&](RenewRequest const& request) -> RenewReply {
            if (!flags)
                return failure_of(*server_, outcome, request.claim->key());
            if ((*flags)[i++] == '1')
                return renewed(request, outcome);
            return NotOwner{};
        });
    }

    /** Ends the renewals that were not written in time, and sends the others again. */
    void too_late()
    {
        auto const now = server_->runtime().now();
        auto const rest = std::make_shared<RenewalBatch>(server_, handler_);
        std::erase_if(pending_, [&](Pending& pending) {
            if (pending.request.not_after <= now)
                return false;
            rest->pending_.push_back(std::move(pending));
            return true;
        });
        answer([](RenewRequest const&) { return RenewReply(Failure::dropped()); });
        if (!rest->pending_.empty())
            rest->send();
    }

    void retry_each_alone(Failure const& reason)
    {
        // If this call was not sent either, the refusal of the batch is the answer.
        auto const unless_sent =
            std::make_shared<RenewHandler const>([handler = handler_, reason](std::span<RenewAnswer> answers) {
                for (auto& answer : answers)
                    if (failed_as(answer.reply, Failure::Effect::not_sent))
                        answer.reply = reason;
                (*handler)(answers);
            });
        for (auto& pending : std::exchange(pending_, {})) {
            auto const single = std::make_shared<RenewalBatch>(server_, unless_sent);
            single->pending_.push_back(std::move(pending));
            single->send_script();
        }
    }

    void send_natively()
    {
        auto const& request = pending_.front().request;
        auto const& claim = *request.claim;
        resp::Command command("SET");
        command.add(claim.key()).add(claim.owner).add("IFEQ").add(claim.owner).add("PX");
        command.add(request.lifetime().count());
        // the lease may end while the command waits
        Deadline const until(request.not_after, Deadline::Mark(request.claim, &claim.mark));
        server_->channel()->execute(as_renewal(std::move(command)), until, [self = shared(*this)](Outcome&& outcome) {
            self->answered_natively(outcome);
        });
    }

    void answered_natively(Outcome const& outcome)
    {
        // if it was not written, the lease may have ended meanwhile
        drop_ended();
        if (pending_.empty()) {
            answer_ended();
            return;
        }
        if (concerns_single_key(outcome) || is_command_unavailable(outcome)) {
            retry_each_alone(server_->refuse_native(outcome.reply, pending_.front().request.claim->key()));
            return;
        }
        answer([&](RenewRequest const& request) -> RenewReply {
            if (outcome.delivery == Delivery::answered && outcome.reply.is_ok())
                return renewed(request, outcome);
            if (outcome.delivery == Delivery::answered && outcome.reply.is_null())
                return NotOwner{};
            return failure_of(*server_, outcome, request.claim->key());
        });
    }

    /** Makes the reply to an extended lease: a failure if too few replicas have acknowledged it. */
    [[nodiscard]] RenewReply renewed(RenewRequest const& request, Outcome const& outcome) const
    {
        if (outcome.shortfall == nullptr)
            return Renewed{request.ttl, outcome.since};
        return Failure::unknown(
            outcome.shortfall->error, server_->where() + ": " + request.claim->key() +
                                          ": the renewal does not count: " + outcome.shortfall->detail);
    }

    /** Answers all renewals in one call of the handler, those of ended leases included. */
    template <class ReplyTo>
    void answer(ReplyTo reply_to)
    {
        answer_ended();
        call_handler(std::exchange(pending_, {}), reply_to);
    }

    /** Answers the leases that ended before they were written. */
    void answer_ended()
    {
        call_handler(std::exchange(ended_, {}), [](RenewRequest const&) -> RenewReply {
            return Failure::not_sent(errc::released, "the lease is over");
        });
    }

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

} // namespace

void renew(ServerPtr const& server, std::vector<RenewRequest> requests, RenewHandler handler)
{
    auto const all = std::make_shared<RenewalBatch>(server, std::make_shared<RenewHandler const>(std::move(handler)));
    all->add(std::move(requests));
    server->runtime().post([all] { all->begin(); });
}

} // namespace tenure::redis
