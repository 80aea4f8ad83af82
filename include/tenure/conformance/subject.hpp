// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

/** The conformance suite: test cases of Catch2 that every store has to pass. docs/integrators/writing-a-store.md says
 * how to run it. */
namespace tenure::conformance
{

/** A store under test: how to open it, its abilities, and changes by another client.
 *
 *  Each executable of the suite implements this class and `make_subject`. Every test case has a subject of its own;
 *  those of one process may share a server. The backend itself reports some abilities: the cases about lines,
 *  quarantine and detachment follow `Backend::capabilities`.
 *
 *  @par Thread safety  The suite uses one thread.
 */
class Subject
{
public:
    Subject() = default;
    Subject(Subject const&) = delete;
    Subject& operator=(Subject const&) = delete;
    virtual ~Subject() = default;

    /** One more client of the store. */
    [[nodiscard]] virtual std::shared_ptr<Backend> connect(std::shared_ptr<backend::Runtime> runtime) = 0;

    /** The prefix of all keys of this test case. If the store outlives the subject, each case needs a different prefix:
     * use `next_prefix`. */
    [[nodiscard]] virtual std::string prefix() const { return {}; }

    // -- abilities of the store --

    /** A ttl that the store can grant and a test can wait for. */
    [[nodiscard]] virtual std::chrono::milliseconds short_ttl() const { return std::chrono::milliseconds{400}; }
    /** How long after its ttl a key may still be held. */
    [[nodiscard]] virtual std::chrono::milliseconds expiry_slack() const { return std::chrono::milliseconds{100}; }
    /** How long before the request the validity of a renewal may begin. */
    [[nodiscard]] virtual std::chrono::milliseconds renewal_lag() const { return std::chrono::milliseconds{0}; }

    /** How long before the first attempt the ttl of a claim may have begun, because the claim uses a lease or session
     * that existed already. */
    [[nodiscard]] virtual std::chrono::milliseconds head_start() const { return {}; }

    /** False: `inspect` cannot report the last fencing token of a key. */
    [[nodiscard]] virtual bool tells_tokens() const { return true; }

    /** False: a plain claim does not see the places of its key, so all programs must use a key as one kind. */
    [[nodiscard]] virtual bool plain_claims_see_places() const { return true; }

    /** False: each claim reads all places of its key, so a thousand claims take long. */
    [[nodiscard]] virtual bool many_places_are_quick() const { return true; }

    // -- changes by another client, at once and without the backend --

    /** Overwrites the key with a foreign value, whatever its present value. */
    virtual void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) = 0;
    /** Deletes the key, whatever its value; a free key stays free. */
    virtual void erase(std::string const& key) = 0;
    /** The owner under the key, or `kept/<owner>` of a key that was detached; unset if the key is free. */
    [[nodiscard]] virtual std::optional<std::string> value(std::string const& key) = 0;

    // -- test cases with [lost-replies] only --

    /** A client whose replies can be lost. Null: this store cannot lose replies, and the cases are skipped. */
    [[nodiscard]] virtual std::shared_ptr<Backend> connect_badly(std::shared_ptr<backend::Runtime> runtime)
    {
        (void)runtime;
        return nullptr;
    }
    /** False: a claim reads the pool before it takes a key, so the reply to the read gets lost. */
    [[nodiscard]] virtual bool claims_in_one_step() const { return true; }
    /** False: a release reads the key before it removes it, so the reply to the read gets lost. */
    [[nodiscard]] virtual bool releases_in_one_step() const { return true; }
    /** From now on requests of that client arrive and their replies are lost; `heal` ends this with a new connection.
     */
    virtual void lose_replies() {}
    /** Ends `lose_replies`: that client connects anew, and its replies arrive. */
    virtual void heal() {}
};

/** The subject of one test case; defined by the executable. */
[[nodiscard]] std::unique_ptr<Subject> make_subject();

/** A prefix that no other call in this process returns. */
[[nodiscard]] inline std::string next_prefix()
{
    static unsigned count = 0;
    return "case" + std::to_string(++count) + ":";
}

} // namespace tenure::conformance
