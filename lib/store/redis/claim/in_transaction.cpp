// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of several single keys with fencing in one transaction.
#include "claim.hpp"

#include "store/redis/scripts/scripts.hpp"
#include "store/redis/wire/error_meaning.hpp"
#include "store/redis/wire/transaction.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

// size of a claim and of a token draw in a transaction, with a typical key and owner
constexpr std::size_t bytes_of_claim = 192;
constexpr std::size_t bytes_of_draw = 160;

std::optional<std::uint64_t> drawn_token(resp::Value const& reply)
{
    return reply.is_string() ? read_token(reply) : std::nullopt;
}

bool is_answer_to_set(resp::Value const& reply)
{
    return reply.is_ok() || reply.is_null() || reply.is_error();
}

class ClaimTransaction final : public resp::LateCommand
{
public:
    ClaimTransaction(ServerPtr server, PendingClaims claims, OneShot<void()> answered)
        : server_(std::move(server))
        , claims_(std::move(claims))
        , answered_(std::move(answered))
    {
    }

    void send()
    {
        resp::Command command(shared_from_this());
        command.set_urgency(claims_.front().urgency);
        server_->channel()->execute(
            std::move(command), earliest_deadline(claims_),
            [self = shared(*this)](Outcome&& outcome) { self->answered(std::move(outcome)); });
    }

    [[nodiscard]] std::optional<resp::Command> compose(Instant now) override
    {
        drop_late(*server_, claims_, now);
        // refused since the claims were gathered
        by_script_ = !server_->has_transactions();
        if (claims_.empty() || by_script_)
            return std::nullopt;
        resp::Transaction transaction(claims_.size() * bytes_of_claim + bytes_of_draw);
        for (auto const& claim : claims_) {
            auto const& request = claim.request;
            transaction.add(
                "SET", resp::KeyOf{*request.range, 0}, request.owner, "NX", "PX", request.lifetime().count());
        }
        transaction.add(scripts::draw().by_name, "1", server_->fence());
        return std::move(transaction).end();
    }

private:
    void answered(Outcome&& outcome)
    {
        std::move(answered_)();
        if (claims_.empty())
            return;
        if (by_script_ || (outcome.delivery == Delivery::not_sent && claims_.size() > 1 && !outcome.fatal))
            send_each_alone(std::nullopt);
        else if (outcome.ran_apart)
            ran_apart(std::move(outcome));
        else if (is_refused(outcome))
            transactions_refused(outcome);
        else if (claims_.size() > 1 && concerns_single_key(outcome))
            send_each_alone(server_->refuse(outcome.reply, "claim"));
        else if (!outcome.succeeded())
            // none of the claims was written
            answer_all(claims_, [&](ClaimRequest const& request) {
                return failure_of_claim(*server_, outcome, *request.range);
            });
        else
            ran(std::move(outcome));
    }

    /** Sends each claim in a transaction of its own, or by a script if transactions are refused.
     *  @param reason  why this transaction was refused: the answer for claims whose deadline has passed */
    void send_each_alone(std::optional<Failure> const& reason)
    {
        for (auto& pending : claims_) {
            if (reason)
                pending.handler = or_refused(std::move(pending.handler), *reason);
            pending.urgency = resp::Urgency::step;
            if (!server_->has_transactions()) {
                claim(server_, std::move(pending));
                continue;
            }
            PendingClaims alone;
            alone.push_back(std::move(pending));
            claim_in_transaction(server_, std::move(alone), [] {});
        }
    }

    /** True if the server has no EXEC, or none of the commands, or no script between MULTI and EXEC. Nothing ran. */
    [[nodiscard]] bool is_refused(Outcome const& outcome) const
    {
        if (is_command_unavailable(outcome))
            return true;
        bool const is_script = outcome.refused_command == claims_.size();
        return is_script && refuses_command_here(outcome.reply.as_string());
    }

    void transactions_refused(Outcome const& outcome)
    {
        server_->transactions_refused(outcome.reply.as_string(), outcome.ends_login);
        send_each_alone(server_->refuse(outcome.reply, "claim"));
    }

    /** MULTI was refused, so each SET took effect separately and no token belongs to it. */
    void ran_apart(Outcome&& outcome)
    {
        auto const replies = outcome.reply.elements();
        auto const refusal = replies.front();
        if (!is_command_unavailable(refusal.as_string())) {
            give_back(outcome);
            return;
        }
        server_->transactions_refused(refusal.as_string(), false);
        outcome.reply = resp::Value::list(resp::Type::array, {replies.begin() + 1, replies.end()});
        auto const sets = outcome.reply.elements().first(claims_.size());
        if (!std::ranges::all_of(sets, is_answer_to_set))
            malformed();
        else if (std::ranges::any_of(sets, &resp::Value::is_ok))
            draw_again(std::move(outcome));
        else
            finish(outcome, 0);
    }

    /** @param apart  begins with the refusal of MULTI */
    void give_back(Outcome const& apart)
    {
        auto const replies = apart.reply.elements();
        std::size_t i = 0;
        answer_all(claims_, [&](ClaimRequest const& request) -> ClaimReply {
            auto refused = server_->refuse(replies[0], request.range->describe());
            if (!replies[++i].is_ok())
                return refused;
            return Unconfirmed{
                {0, 0, request.ttl, apart.since, nullptr}, refused.error, std::move(refused.detail), refused.fatal};
        });
    }

    void malformed()
    {
        answer_all(claims_, [this](ClaimRequest const& request) {
            return malformed_reply(*server_, request.range->describe());
        });
    }

    void ran(Outcome&& outcome)
    {
        auto const replies = outcome.reply.elements();
        auto const sets = replies.first(claims_.size());
        if (!std::ranges::all_of(sets, is_answer_to_set)) {
            malformed();
            return;
        }
        auto const& drawn = replies.back();
        bool const grants = std::ranges::any_of(sets, &resp::Value::is_ok);
        if (auto const token = drawn_token(drawn); token || !grants)
            finish(outcome, token.value_or(0));
        else if (may_draw_again(drawn))
            draw_again(std::move(outcome));
        else
            finish(outcome, 0, no_token(drawn));
    }

    /** True if the script did not run: the server does not know it, or runs none in a transaction. */
    [[nodiscard]] bool may_draw_again(resp::Value const& drawn)
    {
        auto const text = drawn.is_error() ? drawn.as_string() : std::string_view();
        if (refuses_command_here(text)) {
            server_->transactions_refused(text, false);
            return true;
        }
        return is_unknown_script(drawn);
    }

    /** Draws a token for keys that are already held, which is safe while they are held. Another client may have
     *  deleted or overwritten one meanwhile, so the script compares the owners. */
    void draw_again(Outcome&& outcome)
    {
        auto const replies = outcome.reply.elements();
        resp::EncodedArguments keys;
        resp::EncodedArguments owners;
        for (std::size_t i = 0; i < claims_.size(); ++i)
            if (replies[i].is_ok()) {
                keys.add(claims_[i].request.range->key(0));
                owners.add(claims_[i].request.owner);
            }
        resp::Command draw("EVAL", scripts::draw().text, keys.count() + 1, server_->fence());
        draw.add(keys).add(owners).set_urgency(resp::Urgency::step);
        auto const shortest =
            std::ranges::min_element(claims_, {}, [](PendingClaim const& claim) { return claim.request.ttl; });
        auto const not_after = Deadline(outcome.since + shortest->request.ttl / 3).with_one_attempt();
        server_->channel()->execute(
            std::move(draw), not_after, [self = shared(*this), claimed = std::move(outcome)](Outcome&& drawn) mutable {
                self->drawn_again(claimed, drawn);
            });
    }

    void drawn_again(Outcome& claimed, Outcome const& drawn)
    {
        if (claimed.shortfall == nullptr)
            claimed.shortfall = drawn.shortfall;
        if (drawn.delivery != Delivery::answered)
            finish(claimed, 0, no_token(drawn.error ? drawn.error : errc::store_unavailable, drawn.detail));
        else if (drawn.login != claimed.login)
            // A server that has taken over may have granted the keys to others with lower tokens than this one.
            finish(claimed, 0, no_token(errc::store_unavailable, "the connection was lost after the keys were taken"));
        else if (auto const token = drawn_token(drawn.reply))
            finish(claimed, *token);
        else if (drawn.reply.is_string() && drawn.reply.as_string().empty())
            finish(
                claimed, 0, no_token(errc::store_unavailable, "a key was deleted or overwritten after it was taken"));
        else
            finish(claimed, 0, no_token(drawn.reply));
    }

    [[nodiscard]] Failure no_token(error_code error, std::string const& why) const
    {
        return Failure::unknown(error, server_->where() + ": " + server_->fence() + ": no fencing token: " + why);
    }

    [[nodiscard]] Failure no_token(resp::Value const& drawn)
    {
        return drawn.is_error() ? refuse_claim(*server_, drawn, server_->fence(), server_->fence())
                                : malformed_reply(*server_, server_->fence());
    }

    /** Answers all claims.
     *  @param missing  why the grants have no token and are given back */
    void finish(Outcome const& outcome, std::uint64_t token, std::optional<Failure> const& missing = std::nullopt)
    {
        auto const replies = outcome.reply.elements();
        for (std::size_t i = 0; i < claims_.size(); ++i) {
            auto& claim = claims_[i];
            if (replies[i].is_null()) {
                claim_held_key(server_, std::move(claim));
                continue;
            }
            auto& [request, handler, place, urgency] = claim;
            if (replies[i].is_error()) {
                std::move(handler)(ClaimReply(server_->refuse(replies[i], request.range->describe())));
                continue;
            }
            Granted granted{0, token, request.ttl, outcome.since, nullptr};
            if (missing.has_value())
                std::move(handler)(
                    ClaimReply(Unconfirmed{std::move(granted), missing->error, missing->detail, missing->fatal}));
            else
                std::move(handler)(confirmed(*server_, *request.range, std::move(granted), outcome));
        }
    }

    ServerPtr server_;
    PendingClaims claims_;
    OneShot<void()> answered_;
    /// the last attempt was not written, because transactions are refused by now
    bool by_script_ = false;
};

} // namespace

void claim_in_transaction(ServerPtr const& server, PendingClaims claims, OneShot<void()> answered)
{
    for (auto const& claim : claims)
        server->channel()->note_ttl(claim.request.ttl);
    std::make_shared<ClaimTransaction>(server, std::move(claims), std::move(answered))->send();
}

} // namespace tenure::redis
