// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Words of servers and proxies, as their sources and manuals have them, and the meaning of each.
#include "store/redis/wire/error_meaning.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string_view>

namespace tenure::redis
{

namespace
{

struct Said {
    char const* by;
    char const* to;
    char const* words;
    ErrorMeaning meaning;
};

using enum ErrorMeaning;

constexpr Said said[] = {
    // -- a command that is not available --
    {"Redis 5", "HELLO", "ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, ", command_unavailable},
    {"Redis 7", "EVAL", "ERR unknown command 'EVAL', with args beginning with: 'return 1' '0' ", command_unavailable},
    {"Redis 7", "CLIENT", "ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.", command_unavailable},
    {"Envoy", "CLIENT", "unsupported command 'CLIENT'", command_unavailable},
    {"Envoy", "MULTI", "ERR unsupported command 'MULTI'", command_unavailable},
    {"Codis", "MULTI", "ERR handle request, command 'MULTI' is not allowed", command_unavailable},
    {"Codis", "SUBSCRIBE", "ERR handle request, command 'SUBSCRIBE' is not allowed", command_unavailable},
    {"predixy", "HELLO", "ERR unknown command", command_unavailable},
    {"predixy", "MULTI", "ERR forbid transaction in current server pool", command_unavailable},
    {"Pika", "ACL", "ERR unknown or unsupported command 'acl\"", command_unavailable},
    {"Pika", "HELLO", "Err unknown or unsupported command 'hello'", command_unavailable},
    {"a gateway", "WAIT", "ERR Unsupported command", command_unavailable},
    {"Huawei DCS", "EVAL", "ERR Unsupported command: 'EVAL'", command_unavailable},
    {"Alibaba Tair", "EVAL", "ERR command eval not support for normal user", command_unavailable},
    {"Alibaba Tair", "EVAL", "ERR command 'eval' not support for your account", command_unavailable},
    {"Alibaba Tair", "WAIT", "ERR unknown command 'WAIT'", command_unavailable},
    {"Memorystore", "CLIENT", "ERR unknown command 'client', with args beginning with: 'setname' ",
     command_unavailable},
    {"Upstash", "SUBSCRIBE", "ERR Command is not available: 'SUBSCRIBE'. See https://upstash.com/docs/redis",
     command_unavailable},
    {"Alibaba Tair", "EVAL",
     "ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array",
     script_text_refused},
    {"Dragonfly", "EVAL", "ERR script tried accessing undeclared key", command_unavailable},
    {"a fork", "EVAL", "ERR Lua scripting is disabled", command_unavailable},
    {"a fork", "EVAL", "ERR EVAL is not implemented", command_unavailable},
    {"a proxy", "CONFIG", "ERR Forbidden Command: CONFIG", command_unavailable},
    {"a proxy", "PUBLISH", "ERR This proxy doesn't support PUBLISH", command_unavailable},
    {"Redis 7", "LPOS in a script", "Unknown Redis command called from script", command_unavailable},
    // -- a command with other arguments --
    {"Redis 6", "HELLO", "NOPROTO unsupported protocol version", arguments_unknown},
    {"a proxy", "HELLO", "ERR NOPROTO unsupported protocol", arguments_unknown},
    {"Envoy", "HELLO", "ERR wrong number of arguments for 'hello' command", arguments_unknown},
    {"Envoy", "EVAL", "wrong number of arguments for 'eval' command", arguments_unknown},
    {"predixy", "HELLO", "ERR argument wrong", arguments_unknown},
    {"Redis 5", "AUTH", "ERR wrong number of arguments for 'auth' command", arguments_unknown},
    {"ElastiCache", "EVAL", "ERR Lua scripts without any input keys are not supported", arguments_unknown},
    {"Alibaba Tair", "EVAL", "ERR for redis cluster, eval/evalsha number of keys can't be negative or zero",
     arguments_unknown},
    // -- a permission --
    {"Redis 7", "EVALSHA", "NOPERM this user has no permissions to run the 'evalsha' command", permission_missing},
    {"Redis 6", "DEL in a script", "The user executing the script can't run this command or subcommand",
     permission_missing},
    {"predixy", "SET", "ERR auth permission deny", permission_missing},
    // -- a login --
    {"Redis 7", "HELLO",
     "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
     "<pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
     login_missing},
    {"twemproxy, Codis", "HELLO", "NOAUTH Authentication required", login_missing},
    {"a proxy", "HELLO", "ERR NOAUTH Authentication required.", login_missing},
    {"Redis 2.6", "GET", "ERR operation not permitted", login_missing},
    {"Redis 6", "AUTH", "WRONGPASS invalid username-password pair or user is disabled.", login_wrong},
    {"Redis 5, Codis, Envoy", "AUTH", "ERR invalid password", login_wrong},
    {"Redis 5, Codis, Envoy", "AUTH", "ERR Client sent AUTH, but no password is set", no_password_needed},
    {"Redis 6", "AUTH",
     "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
     "configuration is correct?",
     no_password_needed},
    {"Redis", "the connection", "DENIED Redis is running in protected mode because protected mode is enabled",
     host_denied},
    // -- for a while only --
    {"Redis", "SET", "OOM command not allowed when used memory > 'maxmemory'.", temporary},
    {"a proxy", "SET", "ERR command not allowed when used memory > 'maxmemory'.", temporary},
    {"Redis", "SET",
     "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that "
     "may modify the data set are disabled, because this instance is configured to report errors during writes",
     temporary},
    {"Redis", "HELLO", "LOADING Redis is loading the dataset in memory", temporary},
    {"Redis", "SET", "READONLY You can't write against a read only replica.", temporary},
    {"Redis", "SET", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     temporary},
    {"Redis, Codis", "the connection", "ERR max number of clients reached", temporary},
    {"a proxy", "EVAL", "ERR EVAL is not allowed during a failover", temporary},
    // -- scripts --
    {"Redis", "EVALSHA", "NOSCRIPT No matching script. Please use EVAL.", script_unknown},
    {"a proxy", "EVALSHA", "ERR NOSCRIPT No matching script. Please use EVAL.", script_unknown},
    // -- anything else --
    {"Envoy", "SET", "no upstream host", other},
    {"Envoy", "SET", "upstream failure", other},
    {"Codis", "the connection", "ERR router is not online", other},
    {"predixy", "SET", "ERR no server connection avaliable", other},
    {"Redis", "INCR", "ERR value is not an integer or out of range", other},
    {"Redis", "SET", "WRONGTYPE Operation against a key holding the wrong kind of value", other},
    {"Redis", "SET", "MOVED 3999 127.0.0.1:6381", other},
    {"nobody", "SET", "", other},
};

} // namespace

TEST_CASE("the words of known servers and proxies have the meaning that their authors gave them", "[redis][errors]")
{
    for (auto const& each : said) {
        CAPTURE(each.by, each.to, each.words);
        CHECK(meaning_of(each.words) == each.meaning);
    }
}

TEST_CASE("an unavailable command ends a request for good, and a temporary error does not", "[redis][errors]")
{
    for (auto const& each : said) {
        CAPTURE(each.by, each.to, each.words);
        auto const error = classify(each.words);
        if (each.meaning == command_unavailable) {
            CHECK(error.error == errc::wrong_server);
            CHECK(error.fatal);
            CHECK_FALSE(concerns_single_key(error));
            CHECK_THAT(error.advice, Catch::Matchers::ContainsSubstring("let the proxy pass"));
        }
        if (each.meaning == temporary)
            CHECK_FALSE(error.fatal);
    }
    CHECK_THAT(
        classify("ERR command 'eval' not support for your account").advice,
        Catch::Matchers::StartsWith("this server or proxy refuses scripts"));
}

TEST_CASE("a command that a script calls says nothing about scripts themselves", "[redis][errors]")
{
    CHECK(is_command_unavailable("ERR unknown command 'EVALSHA'"));
    CHECK_FALSE(
        is_command_unavailable("ERR Unknown Redis command called from script script: 1a2b, on @user_script:3."));
    CHECK_FALSE(is_command_unavailable(
        "ERR Error running script (call to f_1a2b): @user_script:3: @user_script: 3: Unknown Redis command called from "
        "Lua script"));
    CHECK_FALSE(is_command_unavailable("NOSCRIPT No matching script. Please use EVAL."));
}

TEST_CASE("a refusal of some keys is told from one of the command, and from one in a script", "[redis][errors]")
{
    for (auto const* const words :
         {"NOPERM this user has no permissions to access one of the keys used as arguments",
          "NOPERM No permissions to access a key", "TRYAGAIN Multiple keys request during rehashing of slot"})
        CHECK(may_concern_some_keys(words));
    for (auto const* const words :
         {"NOPERM this user has no permissions to run the 'evalsha' command",
          "NOPERM User worker has no permissions to run the 'evalsha' command",
          "NOPERM this user has no permissions to access one of the keys script: 1a2b, on @user_script:3.",
          "OOM command not allowed when used memory > 'maxmemory'.", "ERR internal error"})
        CHECK_FALSE(may_concern_some_keys(words));
}

TEST_CASE("a command is refused in its place in any words but those of other causes", "[redis][errors]")
{
    for (auto const* const words :
         {"ERR EVALSHA is not allowed in a transaction", "ERR internal error", "ERR unknown command 'EVALSHA'",
          "'EVALSHA' Dragonfly does not allow execution of a server-side Lua script inside transaction block"})
        CHECK(refuses_command_here(words));
    for (auto const* const words :
         {"NOSCRIPT No matching script. Please use EVAL.", "OOM command not allowed when used memory > 'maxmemory'.",
          "NOPERM this user has no permissions to run the 'evalsha' command", "MOVED 1 127.0.0.1:7001",
          "WRONGTYPE Operation against a key", "ERR value is not an integer or out of range",
          "ERR value is not an integer or out of range script: 1a2b, on @user_script:4.", "LOADING Redis is loading",
          "EXECABORT Transaction discarded because of previous errors."})
        CHECK_FALSE(refuses_command_here(words));
}

TEST_CASE("an error of PUBLISH in a script may come after the key was freed", "[redis][errors]")
{
    CHECK(may_come_from_publishing("ERR PUBLISH is not allowed from script script: 1a2b, on @user_script:30."));
    CHECK_FALSE(may_come_from_publishing("ERR unknown command 'PUBLISH'"));
    CHECK_FALSE(may_come_from_publishing("NOPERM the user may not publish script: 1a2b, on @user_script:30."));
    CHECK_FALSE(may_come_from_publishing("ERR value is not an integer script: 1a2b, on @user_script:30."));
}

} // namespace tenure::redis
