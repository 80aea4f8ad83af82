// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Store: queries and commands of people, on which no lease depends.
#include <tenure/store.hpp>

#include "api/store_names.hpp"
#include "engine/completion.hpp"
#include "engine/core.hpp"
#include "store/ended_claim.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

namespace
{

using boost::system::errc::invalid_argument;

/// a query that no lease depends on is given up after this time
constexpr std::chrono::seconds answer_limit{5};

/** A pending query. It keeps the store open while its caller waits for the answer. */
template <class... Results>
class Query : public engine::Call<Results...>
{
public:
    using engine::Call<Results...>::Call;

    void keep_open(std::shared_ptr<engine::Handle> handle) noexcept { handle_ = std::move(handle); }
    [[nodiscard]] bool over() const noexcept { return mark_.ended.load(std::memory_order_acquire); }
    [[nodiscard]] RequestMark& mark() noexcept { return mark_; }

    /** On the strand, by the answer or by the user's cancellation. */
    void complete(error_code error, Results... results)
    {
        if (mark_.ended.exchange(true, std::memory_order_acq_rel))
            return;
        if (auto const handle = std::exchange(handle_, nullptr); handle && error == asio::error::operation_aborted)
            handle->core()->drop_abandoned();
        engine::Call<Results...>::complete(error, std::move(results)...);
    }

private:
    std::shared_ptr<engine::Handle> handle_;
    RequestMark mark_;
};

/** Completes a query that is not asked, because its arguments are wrong. */
template <class... Results>
void refuse(
    engine::Core& core, asio::any_completion_handler<void(error_code, Results...)> handler,
    boost::system::errc::errc_t error, std::string words)
{
    auto const code = make_error_code(error);
    auto const failing = core.store_log().refuse(code, std::move(words));
    engine::Completion<void(error_code, Results...)>(std::move(handler), core.runtime().get())
        .complete_at_once(code, Results{}...);
}

/** Starts a query of the store: `ask(core, deadline, done)` on the strand.
 *  @param honoured  types of cancellation that end it */
template <class... Results, class Ask>
void start_query(
    std::shared_ptr<engine::Handle> handle, asio::any_completion_handler<void(error_code, Results...)> handler,
    asio::cancellation_type honoured, Ask ask)
{
    auto const runtime = handle->core()->runtime();
    auto call =
        Query<Results...>::template start<Query<Results...>>({std::move(handler), runtime.get()}, runtime, honoured);
    if (auto const& core = *handle->core(); !core.same_process() || core.is_closed()) {
        call->complete_at_once(make_error_code(core.same_process() ? errc::closed : errc::forked), Results{}...);
        return;
    }
    runtime->strand().execute([handle = std::move(handle), call = std::move(call), ask = std::move(ask)]() mutable {
        if (call->over())
            return;
        auto const core = handle->core();
        call->keep_open(std::move(handle));
        auto const deadline =
            Deadline(core->runtime()->now() + answer_limit, Deadline::Mark(call, &call->mark())).with_one_attempt();
        ask(*core, deadline, [core, call](error_code error, Results... results, std::string detail) {
            FailsWith const failing(core->store_log().of_store(detail));
            if (error && !call->over())
                core->store_log().record_error(error, std::move(detail));
            call->complete(error, std::move(results)...);
        });
    });
}

} // namespace

void Store::start_inspect(HandlePtr handle, KeyRangePtr range, InspectHandler handler)
{
    if (auto& core = *handle->core(); core.same_process() && range == nullptr) {
        refuse(
            core, std::move(handler), invalid_argument,
            "nothing is inspected: the range is null; use the range() of a lock or pool, or named_key");
        return;
    }
    start_query(
        std::move(handle), std::move(handler), detail::every_cancellation,
        [range = std::move(range)](engine::Core& core, Deadline const& not_after, auto const& done) {
            auto const asked = core.runtime()->now();
            core.backend().inspect(
                {range, not_after}, [done, range, asked, core = core.shared_from_this()](InspectReply reply) {
                    core->counters().requests.ended(RequestKind::inspect, reply, core->runtime()->now() - asked);
                    if (auto* states = std::get_if<std::vector<KeyState>>(&reply)) {
                        for (auto& state : *states)
                            state.range = range;
                        done({}, std::move(*states), {});
                    } else if (auto* const failure = std::get_if<Failure>(&reply))
                        done(engine::error_for_caller(*failure), {}, std::move(failure->detail));
                });
        });
}

void Store::start_evict(HandlePtr handle, KeyState seen, std::string who, EvictHandler handler)
{
    if (auto& core = *handle->core(); core.same_process() && (!is_name(who) || seen.range == nullptr)) {
        refuse(
            core, std::move(handler), invalid_argument,
            seen.range == nullptr ? "no key is evicted: the KeyState is not from an inspection, so it names no key"
                                  : seen.key() + " is not evicted: who" + std::string(rule_for_names));
        return;
    }
    EvictRequest request;
    // null in a child of fork, which asks for nothing
    request.range = seen.range == nullptr || seen.places.empty() ? std::move(seen.range) : shared_key(seen.key());
    request.index = seen.index;
    request.owner = std::move(seen.owner);
    request.evicted_by = std::move(who);
    start_query(
        std::move(handle), std::move(handler), detail::partial_cancellation,
        [request = std::move(request)](engine::Core& core, Deadline const& not_after, auto const& done) mutable {
            request.not_after = not_after;
            auto const range = request.range;
            auto const index = request.index;
            // an inspection shows the beginning of a longer value, which equals none
            bool const is_cut = request.owner.size() >= KeyState::longest_owner;
            core.backend().evict(std::move(request), [done, range, index, is_cut](EvictReply reply) {
                using std::chrono::milliseconds;
                if (auto const* evicted = std::get_if<Evicted>(&reply))
                    done({}, evicted->remaining.value_or(milliseconds{0}), {});
                else if (std::holds_alternative<NotOwner>(reply) && is_cut)
                    done(
                        make_error_code(errc::key_conflict), milliseconds{0},
                        range->key(index) + ": its value is too long for a lease, so another program wrote it; delete "
                                            "it by hand if no program uses it");
                else if (std::holds_alternative<NotOwner>(reply))
                    done(
                        make_error_code(errc::lease_lost), milliseconds{0},
                        range->key(index) + ": it has another owner now, or none");
                else if (auto* const failure = std::get_if<Failure>(&reply))
                    done(engine::error_for_caller(*failure), milliseconds{0}, std::move(failure->detail));
            });
        });
}

void Store::start_free(HandlePtr handle, KeyState seen, DoneHandler handler)
{
    bool const is_ended = seen.kind == KeyState::Kind::resting || seen.kind == KeyState::Kind::kept;
    if (auto& core = *handle->core(); core.same_process() && (seen.range == nullptr || !is_ended)) {
        refuse(
            core, std::move(handler), invalid_argument,
            seen.range == nullptr
                ? "no key is freed: the KeyState is not from an inspection, so it names no key"
                : seen.key() + " is not freed: it is neither kept nor in quarantine; a held key is evicted");
        return;
    }
    WithdrawRequest request;
    // of this key alone; its waiters are those of the range. Null in a child of fork, which asks for nothing
    if (auto const& all = seen.range; all != nullptr)
        request.range = std::make_shared<KeyRange const>(
            KeyRange{all->prefix, all->first + seen.index, 1, all->numbered, all->shares});
    request.owner = seen.kind == KeyState::Kind::kept ? kept_value(seen.owner) : resting_value(seen.owner);
    start_query(
        std::move(handle), std::move(handler), detail::partial_cancellation,
        [request = std::move(request)](engine::Core& core, Deadline const& not_after, auto const& done) mutable {
            request.not_after = not_after.at();
            core.backend().withdraw(std::move(request), [done](WithdrawReply reply) {
                if (auto* const failure = std::get_if<Failure>(&reply))
                    done(engine::error_for_caller(*failure), std::move(failure->detail));
                else
                    done({}, {});
            });
        });
}

void Store::start_list(HandlePtr handle, std::string prefix, std::size_t most, ListHandler handler)
{
    if (auto& core = *handle->core(); core.same_process() && core.capabilities().no_list != nullptr) {
        refuse(
            core, std::move(handler), boost::system::errc::operation_not_supported,
            "the store cannot list its keys: " + std::string(core.capabilities().no_list));
        return;
    }
    start_query(
        std::move(handle), std::move(handler), detail::every_cancellation,
        [request = ListRequest{std::move(prefix), most, {}}](
            engine::Core& core, Deadline const& not_after, auto const& done) mutable {
            request.not_after = not_after;
            auto const limit = request.most;
            core.backend().list(std::move(request), [done, limit](ListReply reply) {
                if (auto* const failure = std::get_if<Failure>(&reply)) {
                    done(engine::error_for_caller(*failure), {}, std::move(failure->detail));
                    return;
                }
                auto& list = std::get<KeyList>(reply);
                std::ranges::sort(list.keys);
                list.keys.erase(std::ranges::unique(list.keys).begin(), list.keys.end());
                list.more = list.more || list.keys.size() > limit;
                list.keys.resize(std::min(list.keys.size(), limit));
                done({}, std::move(list), {});
            });
        });
}

void Store::start_examine(HandlePtr handle, std::chrono::milliseconds ttl, ExamineHandler handler)
{
    start_query(
        std::move(handle), std::move(handler), detail::every_cancellation,
        [ttl](engine::Core& core, Deadline const& not_after, auto const& done) {
            if (core.capabilities().examines)
                core.backend().examine(
                    ttl, not_after, [done](Findings findings) { done({}, std::move(findings), {}); });
            else
                done({}, {}, {});
        });
}

} // namespace tenure
