// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "trial.hpp"

#include "simulation/redis/keyspace.hpp"
#include "simulation/redis/lua.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace tenure::simulation
{

/** A server in this process that runs the scripts of places in Lua 5.1, with the commands that they call. */
class LuaServer : public PlaceServer, private ScriptHost
{
public:
    redis::resp::Value run(redis::Script const& script, Words keys, Words values) override;
    redis::resp::Value command(Words words) override;
    void set_clock(std::int64_t milliseconds) override { now_ = milliseconds; }
    Words told() override { return std::exchange(told_, {}); }

    /** As `run`, in the words of the server. */
    [[nodiscard]] Reply reply_of(redis::Script const& script, Words const& keys, Words const& values);
    /** As `command`, in the words of the server. */
    [[nodiscard]] Reply call(Words const& words) override;

protected:
    virtual void publish(std::string const& channel, std::string const& message);

private:
    void expire(std::string const& key, Keyspace::Entry* entry, std::int64_t ttl);
    [[nodiscard]] Reply incr(std::string const& key, Keyspace::Entry const* entry);
    [[nodiscard]] Reply on_hash(Words const& words, Keyspace::Entry* entry);

    Lua lua_;
    Keyspace keys_;
    std::int64_t now_ = 0;
    Words told_;
};

} // namespace tenure::simulation
