// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "master_vote.hpp"
#include "runtime/names.hpp"
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

/** One query of all sentinels in parallel for the master. Each sentinel gets a new connection that ends with the
 *  query, so answers are fresh and silent sentinels are noticed. Use it once, on the strand. */
class SentinelQuery : public std::enable_shared_from_this<SentinelQuery>
{
public:
    struct Request {
        MasterVote::Rules rules;
        /// the first `rules.configured` are from the config, the rest were named by other sentinels
        std::vector<SentinelEntry> sentinels;
    };
    struct Result {
        MasterVote::Verdict verdict;
        std::vector<ServerAddress> answered;
        std::vector<ServerAddress> silent;
        /// further sentinels, named by the asked ones
        std::vector<SentinelEntry> learned;
    };
    using Handler = std::function<void(Result)>;

    /// limit of asked sentinels beyond those of the config
    static constexpr std::size_t learned_at_most = 16;

    SentinelQuery(std::shared_ptr<Runtime> runtime, SentinelConnect connect, Request request, Handler handler);
    SentinelQuery(SentinelQuery const&) = delete;
    SentinelQuery& operator=(SentinelQuery const&) = delete;
    ~SentinelQuery();

    /** Begins. The handler is called once, never inside this call, unless `cancel` comes first. */
    void start();
    void cancel() noexcept;

private:
    /// the requests to each sentinel, in this order
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
    /// ends the query if there is a verdict
    void conclude_if_decided();
    void finish();

    std::shared_ptr<Runtime> runtime_;
    SentinelConnect connect_;
    Request request_;
    /// null after its call or after `cancel`
    Handler handler_;
    MasterVote vote_;
    /// indexed by the numbers of `vote_`
    std::vector<Asked> asked_;
    std::vector<SentinelEntry> learned_;
    Timer timer_;
};

} // namespace tenure::redis
