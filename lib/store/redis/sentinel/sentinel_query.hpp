// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "master_vote.hpp"
#include "store/redis/link/connection.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/runtime.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenure::redis
{

/** Makes an unopened connection to a sentinel. */
using SentinelConnect = std::function<std::shared_ptr<Connection>(ServerAddress const&)>;

/** One round of asking sentinels who the master is, all at once, each on a connection of its own that ends with the
 *  round: an answer is as fresh as can be, and a sentinel that fell silent is noticed. Used once, on the strand. */
class SentinelQuery : public std::enable_shared_from_this<SentinelQuery>
{
public:
    struct Question {
        MasterVote::Rules rules;
        /// the first `rules.configured` were named by the user, the rest by other sentinels
        std::vector<SentinelEntry> sentinels;
    };
    struct Result {
        MasterVote::Verdict verdict;
        std::vector<ServerAddress> answered;
        std::vector<ServerAddress> silent;
        /// what they named beyond those that the user named
        std::vector<SentinelEntry> learned;
    };
    using Handler = std::function<void(Result)>;

    /// limit of sentinels that are asked beyond those that the user named
    static constexpr std::size_t learned_at_most = 16;

    SentinelQuery(std::shared_ptr<Runtime> runtime, SentinelConnect connect, Question question, Handler handler);
    SentinelQuery(SentinelQuery const&) = delete;
    SentinelQuery& operator=(SentinelQuery const&) = delete;
    ~SentinelQuery();

    /** The handler is called once, never inside this call, unless `cancel` comes first. */
    void start();
    void cancel() noexcept;

private:
    /// what each sentinel is asked, in this order
    enum Part : std::size_t { id, address, state, others, parts };
    struct Asked {
        std::shared_ptr<Connection> connection;
        std::array<resp::Value, parts> replies;
        std::size_t missing = parts;
    };

    void ask(SentinelEntry const& sentinel);
    void send(std::size_t sentinel, Part part, resp::Command command);
    void state_changed(std::size_t sentinel, ConnectionState state);
    void answered(std::size_t sentinel, Part part, Outcome outcome);
    void understand(std::size_t sentinel);
    [[nodiscard]] static StreamError refusal(resp::Value const& error);
    void learn(resp::Value const& others);
    void ask_learned_if_needed();
    /// ends the round if there is a verdict
    void look();
    void finish();

    std::shared_ptr<Runtime> runtime_;
    SentinelConnect connect_;
    Question question_;
    /// null once it was called or cancelled
    Handler handler_;
    MasterVote search_;
    /// as numbered by `search_`
    std::vector<Asked> asked_;
    std::vector<SentinelEntry> learned_;
    Timer timer_;
    Instant timer_at_ = Instant::max();
};

} // namespace tenure::redis
