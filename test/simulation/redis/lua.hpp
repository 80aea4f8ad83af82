// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "reply.hpp"

#include "harness/immovable.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

struct lua_State;

namespace tenure::simulation
{

/** Runs commands for a script. */
class ScriptHost
{
public:
    [[nodiscard]] virtual Reply call(std::vector<std::string> const& words) = 0;

protected:
    ~ScriptHost() = default;
};

/** Lua 5.1, which Redis and Valkey embed, with as much of their `redis` table as leases use: `redis.call`,
 *  `redis.pcall`, KEYS and ARGV. */
class Lua : test::Immovable
{
public:
    Lua();
    ~Lua();

    struct Error {
        /// the error of a failed command; empty: the script itself failed
        std::string words;
        std::string message;
        int line = 0;
    };
    /** Runs the script. False: it ended with an error. */
    [[nodiscard]] bool
    run(std::string const& text, std::vector<std::string> const& keys, std::vector<std::string> const& arguments,
        ScriptHost& host, Reply& reply, Error& error);

private:
    [[nodiscard]] bool compile(std::string const& text, Error& error);

    lua_State* state_;
    /// compiled before, by their text: where the registry has them
    std::map<std::string, int> compiled_;
};

} // namespace tenure::simulation
