// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// to_string is the name of the enumerator.
#include <tenure/backend/backend.hpp>
#include <tenure/tenure.hpp>

#include <catch2/catch_test_macros.hpp>

namespace tenure
{

#define CHECK_NAMES_OF(Type, ...)                                                                                      \
    {                                                                                                                  \
        using enum Type;                                                                                               \
        __VA_ARGS__                                                                                                    \
    }
#define CHECK_NAME(enumerator) CHECK(to_string(enumerator) == #enumerator);

TEST_CASE("to_string is the name of the enumerator, of every public enum"){
    CHECK_NAMES_OF(
        CancelReason,
        CHECK_NAME(none) CHECK_NAME(expired) CHECK_NAME(not_owner) CHECK_NAME(first_failed_renewal) CHECK_NAME(max_hold)
            CHECK_NAME(store_closed) CHECK_NAME(released) CHECK_NAME(detached) CHECK_NAME(rebalanced))
        CHECK_NAMES_OF(
            ShardEvent::Kind,
            CHECK_NAME(joined) CHECK_NAME(membership_lost) CHECK_NAME(left) CHECK_NAME(acquired) CHECK_NAME(giving_up)
                CHECK_NAME(terminated) CHECK_NAME(abandoned) CHECK_NAME(finished) CHECK_NAME(released) CHECK_NAME(lost))
            CHECK_NAMES_OF(CancelWhen, CHECK_NAME(loss) CHECK_NAME(first_failed_renewal)) CHECK_NAMES_OF(
                Event::Kind, CHECK_NAME(waited) CHECK_NAME(acquired) CHECK_NAME(at_risk) CHECK_NAME(renewed_late)
                                 CHECK_NAME(lost) CHECK_NAME(released))
                CHECK_NAMES_OF(
                    Finding::Severity, CHECK_NAME(ok) CHECK_NAME(unverified) CHECK_NAME(warning) CHECK_NAME(error))
                    CHECK_NAMES_OF(
                        KeyState::Kind,
                        CHECK_NAME(free) CHECK_NAME(held) CHECK_NAME(resting) CHECK_NAME(kept) CHECK_NAME(foreign))
                        CHECK_NAMES_OF(
                            Leader::State, CHECK_NAME(unknown) CHECK_NAME(none) CHECK_NAME(present) CHECK_NAME(stale))
                            CHECK_NAMES_OF(
                                LeaseState, CHECK_NAME(held) CHECK_NAME(at_risk) CHECK_NAME(lost) CHECK_NAME(released))
                                CHECK_NAMES_OF(
                                    LogLevel, CHECK_NAME(trace) CHECK_NAME(debug) CHECK_NAME(info) CHECK_NAME(warning)
                                                  CHECK_NAME(error))
                                    CHECK_NAMES_OF(
                                        NameMetrics::Kind,
                                        CHECK_NAME(lock) CHECK_NAME(pool) CHECK_NAME(shares) CHECK_NAME(other))
                                        CHECK_NAMES_OF(Order, CHECK_NAME(unchecked) CHECK_NAME(checked)) CHECK_NAMES_OF(
                                            ReleaseOutcome, CHECK_NAME(released) CHECK_NAME(was_lost)
                                                                CHECK_NAME(unconfirmed) CHECK_NAME(still_held))
                                            CHECK_NAMES_OF(Renewal, CHECK_NAME(automatic) CHECK_NAME(manual))
                                                CHECK_NAMES_OF(
                                                    RequestKind, CHECK_NAME(claim) CHECK_NAME(renew) CHECK_NAME(release)
                                                                     CHECK_NAME(withdraw) CHECK_NAME(inspect))
                                                    CHECK_NAMES_OF(
                                                        RequestOutcome,
                                                        CHECK_NAME(done) CHECK_NAME(declined) CHECK_NAME(refused)
                                                            CHECK_NAME(not_sent) CHECK_NAME(unanswered))
                                                        CHECK_NAMES_OF(
                                                            condition, CHECK_NAME(busy) CHECK_NAME(try_later)
                                                                           CHECK_NAME(misconfigured))
                                                            CHECK_NAMES_OF(
                                                                errc,
                                                                CHECK_NAME(timed_out) CHECK_NAME(
                                                                    store_unavailable) CHECK_NAME(store_refused)
                                                                    CHECK_NAME(authentication_failed) CHECK_NAME(
                                                                        permission_denied) CHECK_NAME(wrong_database)
                                                                        CHECK_NAME(wrong_server) CHECK_NAME(tls_failed)
                                                                            CHECK_NAME(protocol_error) CHECK_NAME(
                                                                                key_conflict) CHECK_NAME(ttl_too_short)
                                                                                CHECK_NAME(lease_lost) CHECK_NAME(
                                                                                    released) CHECK_NAME(closed)
                                                                                    CHECK_NAME(forked) CHECK_NAME(
                                                                                        not_replicated)
                                                                                        CHECK_NAME(out_of_order)
                                                                                            CHECK_NAME(would_deadlock))
                                                                CHECK_NAMES_OF(
                                                                    backend::Failure::Effect,
                                                                    CHECK_NAME(refused) CHECK_NAME(not_sent)
                                                                        CHECK_NAME(unknown))
                                                                    CHECK_NAMES_OF(
                                                                        backend::Waits,
                                                                        CHECK_NAME(no) CHECK_NAME(in_line)
                                                                            CHECK_NAME(in_front))
                                                                        CHECK_NAMES_OF(
                                                                            backend::WatchAs,
                                                                            CHECK_NAME(waiter) CHECK_NAME(observer))
                                                                            CHECK_NAMES_OF(
                                                                                backend::WatchEvent,
                                                                                CHECK_NAME(in_force) CHECK_NAME(hint)
                                                                                    CHECK_NAME(our_turn) CHECK_NAME(
                                                                                        others_turn)
                                                                                        CHECK_NAME(interrupted)
                                                                                            CHECK_NAME(unavailable))}

TEST_CASE("describe says in a sentence why a token was cancelled")
{
    CHECK(describe(CancelReason::expired) == "no renewal succeeded in time");
}

} // namespace tenure
