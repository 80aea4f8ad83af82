// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

/** The conformance suite: test cases of Catch2 that every store has to pass. docs/backends.md says how to run it. */
namespace tenure::conformance
{

/** A store that is put through the suite: how it is opened, what it can do, and what a person does to it.
 *
 *  Each executable of the suite implements this class and `make_subject`. Every test case has a subject of its own;
 *  those of one process may share a server. What the backend itself says is not asked again: the cases about lines,
 *  quarantine and detachment follow `Backend::keeps_line`, `no_quarantine` and `no_detach`.
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
    [[nodiscard]] virtual std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) = 0;

    /** What stands in front of all keys of this test case. If the store outlives the subject, no other case may use the
     * same: `next_prefix`. */
    [[nodiscard]] virtual std::string prefix() const { return {}; }

    // -- what the store can do --

    /** A ttl that the store can grant and a test can wait for. */
    [[nodiscard]] virtual std::chrono::milliseconds short_ttl() const { return std::chrono::milliseconds{400}; }
    /** How long after its ttl a key may still be held. */
    [[nodiscard]] virtual std::chrono::milliseconds expiry_slack() const { return std::chrono::milliseconds{100}; }
    /** How much older than the request the instant may be from which a renewal counts. */
    [[nodiscard]] virtual std::chrono::milliseconds renewal_lag() const { return std::chrono::milliseconds{0}; }

    /** How much longer ago than the first attempt the ttl of a claim may have begun, because the claim rests on
     * something that was there already. */
    [[nodiscard]] virtual std::chrono::milliseconds head_start() const { return {}; }

    /** False: `inspect` knows of no key's last fencing token. */
    [[nodiscard]] virtual bool tells_tokens() const { return true; }

    // -- what a person with another client does, at once and without the backend --

    /** Puts somebody else's value under the key, whatever is there. */
    virtual void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) = 0;
    virtual void erase(std::string const& key) = 0;
    /** The owner under the key, or `kept/<owner>` of a key that was detached; unset if the key is free. */
    [[nodiscard]] virtual std::optional<std::string> value(std::string const& key) = 0;

    // -- test cases with [lost-replies] only --

    /** A client whose replies can be lost. Null: no reply of this store can, and the cases are skipped. */
    [[nodiscard]] virtual std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime)
    {
        (void)runtime;
        return nullptr;
    }
    /** False: a pool is looked at before a key of it is claimed, so it is the answer to the look that gets lost. */
    [[nodiscard]] virtual bool claims_in_one_step() const { return true; }
    /** False: a key is looked at before it is removed, so it is the answer to the look that gets lost. */
    [[nodiscard]] virtual bool releases_in_one_step() const { return true; }
    /** From now on requests of that client arrive, and what is answered is lost; `heal` ends it with a new connection.
     */
    virtual void lose_replies() {}
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
