// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tenure::test
{

/** A store whose backend is put through the conformance suite. Each executable of the suite links one implementation
 * and its `make_subject`. The test cases of a process share the servers; each has a subject and keys of its own. */
class Subject
{
public:
    Subject() = default;
    Subject(Subject const&) = delete;
    Subject& operator=(Subject const&) = delete;
    virtual ~Subject() = default;

    /** One more client of the store. */
    [[nodiscard]] virtual std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) = 0;

    /** What stands in front of all keys of this test case. No other case may use it while the servers run. */
    [[nodiscard]] virtual std::string prefix() const { return {}; }

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

    // -- what a person with another client does --

    /** Puts somebody else's value under the key, whatever is there. */
    virtual void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) = 0;
    virtual void erase(std::string const& key) = 0;
    /** The owner under the key; unset if it is free. */
    [[nodiscard]] virtual std::optional<std::string> value(std::string const& key) = 0;

    // -- test cases with [lost-replies] only --

    /** A client whose replies can be lost. */
    [[nodiscard]] virtual std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime)
    {
        return connect(std::move(runtime));
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

[[nodiscard]] std::unique_ptr<Subject> make_subject();

/** A prefix that no other call in this process returns. */
[[nodiscard]] inline std::string next_prefix()
{
    static unsigned count = 0;
    return "case" + std::to_string(++count) + ":";
}

} // namespace tenure::test
