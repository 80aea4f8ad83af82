// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"
#include "script_trial.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace tenure::simulation
{

/** Random operations beside a model of the rule: each answer, each message and the hash must be those of the model. */
class ExactTrial final : public ScriptTrial
{
public:
    ExactTrial(PlaceServer& server, std::uint64_t seed)
        : ScriptTrial(server, seed, 61, seed % 3 == 0)
    {
    }

    void run(unsigned operations);

private:
    void one();

    [[nodiscard]] std::string any_owner();
    [[nodiscard]] Words some_owners();
    [[nodiscard]] std::int64_t a_ttl() { return random_.chance(5000) ? short_ttl : long_ttl; }
    /** As the scripts of claims see it, which may note that the server's process is new. */
    [[nodiscard]] bool closes(std::int64_t ttl);
    [[nodiscard]] bool is_closed() const { return delays_ && (known_process_ != run_id_ || opens_ > clock_); }

    void claim_first(bool waits);
    void claim_again();

    [[nodiscard]] bool
    ask(std::string const& owner, Asked share, std::int64_t ttl, bool waits, std::string const& store);

    void renew_some();

    void leave_some();

    void evict();

    void detach();

    void lose_counter();

    void fail_over();

    /** Another program's key: nothing of it is touched (S26). */
    void meet_another_kind();

    void expect(Words const& news) { expected_.insert(expected_.end(), news.begin(), news.end()); }

    /** Each place that holds now, and whose store does not know it, was told. */
    void told();

    /** S25: the head says what the places say, and the hash has nothing else. */
    void look();
    /** No script has looked since then. */
    [[nodiscard]] bool lapsed_ahead() const;

    PlaceModel model_;
    /// of the owners that still live
    std::map<std::string, Asked> shares_;
    Words expected_;
    std::string known_process_;
    std::int64_t longest_ = 0;
    std::int64_t opens_ = 0;
};

} // namespace tenure::simulation
