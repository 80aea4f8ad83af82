// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <store/redis/link/stream.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

/** A Redis server that answers a number of requests a second, one after another, and never stops. It knows what claims
 *  of free keys, renewals and releases need, and nothing else. */
class SlowServer : public std::enable_shared_from_this<SlowServer>
{
public:
    struct Settings {
        /// commands a second; each command of a transaction is one
        unsigned rate = 50;
        /// each way
        Clock::duration delay{};
        /// bytes that a connection takes before the server has read them
        std::size_t buffer = 0;
    };

    SlowServer(std::shared_ptr<Runtime> runtime, Settings const& settings);

    /** Makes an unconnected stream to it. */
    [[nodiscard]] std::shared_ptr<redis::Stream> connect();

    /** Counts of connections and commands; the repeated ones must stay 0. */
    struct Seen {
        /// connections that were logged in
        unsigned connections = 0;
        /// claims of an owner that had claimed before
        unsigned claims_repeated = 0;
        /// renewals of a key that arrived before another one of it was executed
        unsigned renewals_repeated = 0;
        std::uint64_t commands = 0;
    };
    [[nodiscard]] Seen const& seen() const noexcept { return seen_; }

private:
    class Connection;
    using Words = std::vector<std::string>;
    struct Entry {
        std::string owner;
        Instant expires{};
    };

    void received(std::shared_ptr<Connection> const& connection);
    void serve();
    [[nodiscard]] std::string execute(Connection& connection, Words const& words);
    [[nodiscard]] std::string run(Words const& words);
    [[nodiscard]] std::string call_script(Words const& words);
    [[nodiscard]] static bool is_renewal(Words const& words);
    /** Counts the keys of this renewal that another waiting one names. */
    void look_for_repetition(Connection const& connection, Words const& renewal);
    [[nodiscard]] std::string renew(Words const& words);
    /** True if the key had the owner. */
    bool release(std::string const& key, std::string const& owner);
    [[nodiscard]] std::string release_each(Words const& words);
    [[nodiscard]] std::string set(Words const& words);
    [[nodiscard]] Entry* held(std::string const& key);

    std::shared_ptr<Runtime> runtime_;
    Settings settings_;
    /// connections with commands to execute, one entry for each
    std::deque<std::shared_ptr<Connection>> waiting_;
    bool busy_ = false;
    std::map<std::string, Entry> keys_;
    std::map<std::string, unsigned> claims_of_;
    std::uint64_t token_ = 0;
    Seen seen_;
};

} // namespace tenure::simulation
