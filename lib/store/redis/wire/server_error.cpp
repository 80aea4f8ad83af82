// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Meaning of the error replies of a server.
#include "server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace tenure::redis
{

namespace
{

// Redis 6 wraps errors in a script: "ERR Error running script (call to f_1a2b): @user_script:3: WRONGTYPE ...". Errors
// of the script engine have the position twice and a leading '-', or only once if the script returned them. Redis 7
// appends " script: 1a2b, on @user_script:3."
std::string_view unwrap(std::string_view text)
{
    constexpr std::string_view mark = "@user_script:";
    if (text.starts_with("ERR Error running script") || text.starts_with(mark)) {
        if (auto const at = text.rfind(mark); at != std::string_view::npos) {
            text.remove_prefix(at + mark.size());
            text.remove_prefix(std::min(text.find_first_not_of(" 0123456789:"), text.size()));
            if (text.starts_with('-'))
                text.remove_prefix(1);
        }
    }
    text = text.substr(0, text.find(" script: "));
    // the error for an unknown command repeats its arguments, which include an owner
    text = text.substr(0, text.find(", with args"));
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.remove_suffix(1);
    return text;
}

bool mentions(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string unavailable_advice(std::string_view words)
{
    constexpr std::string_view needed =
        "leases need Redis 6 or newer, or Valkey, with scripts: connect to the server itself, or let the proxy pass "
        "SET, GET, EVAL and EVALSHA";
    auto const names = [words](std::string_view part) {
        auto const same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
        return !std::ranges::search(words, part, same).empty();
    };
    if (names("eval") || names("script") || names("lua"))
        return "this server or proxy refuses scripts; " + std::string(needed);
    return "this server or proxy refuses a command; " + std::string(needed);
}

// "... no permissions to run the 'del' command": +del
std::string permission_advice(std::string_view words)
{
    constexpr std::string_view mark = "run the '";
    if (auto const at = words.find(mark); at != std::string_view::npos) {
        auto const rest = words.substr(at + mark.size());
        std::string command(rest.substr(0, rest.find('\'')));
        // each of the two commands needs the other
        if (command == "multi" || command == "exec")
            command = "multi +exec";
        return "grant +" + command + " to the user (docs/integrators/redis-protocol.md lists what leases need)";
    }
    if (mentions(words, "channel"))
        return "grant the user the channel: &{PREFIX*}:free";
    if (mentions(words, "key"))
        return "grant the user the keys, the counter of fencing tokens, and the lines of waiters: ~PREFIX* "
               "~tenure:fence "
               "~{PREFIX*}:waiting ~{PREFIX*}:watched (docs/integrators/redis-protocol.md: more in a cluster and with "
               "Redlock)";
    return "grant the user what leases need: -@all +eval +evalsha +get +mget +exists +set +del +pexpire +pttl +incr "
           "+time +multi +exec, and for fair locks, read-write locks and semaphores +hget +hmget +hset +hdel "
           "+hgetall";
}

/** Hides the secret part of owners, because a server may repeat its input. */
void hide_owners(std::string& text)
{
    constexpr std::size_t digits = 32;
    auto const is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
    for (auto at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
        auto const part = std::string_view(text).substr(at + 1, digits);
        if (part.size() == digits && std::ranges::all_of(part, is_digit))
            text.replace(at + 1, digits, "***");
    }
}

struct Rule {
    std::string_view word;
    errc error;
    bool fatal;
    bool reconnect;
    std::string_view advice;
};

constexpr std::array rules{
    Rule{"NOAUTH", errc::authentication_failed, true, false, "give user and password"},
    Rule{"WRONGPASS", errc::authentication_failed, true, false, "check user and password"},
    Rule{"MOVED", errc::wrong_server, true, false, "this is a node of a cluster: use redis+cluster://"},
    Rule{"ASK", errc::wrong_server, true, false, "this is a node of a cluster: use redis+cluster://"},
    Rule{"CROSSSLOT", errc::wrong_server, true, false, "this is a node of a cluster: use redis+cluster://"},
    Rule{"READONLY", errc::store_refused, false, true, ""},
    Rule{"LOADING", errc::store_refused, false, true, ""},
    Rule{"MASTERDOWN", errc::store_refused, false, true, ""},
    Rule{"WRONGTYPE", errc::key_conflict, true, false, "another program uses this key: choose another name"},
};

ServerError with(std::string_view words, errc error, bool fatal, bool reconnect, std::string advice)
{
    ServerError result;
    result.error = error;
    result.meaning = meaning_of(words);
    result.fatal = fatal;
    result.reconnect = reconnect;
    result.words = words;
    hide_owners(result.words);
    result.words.resize(std::min<std::size_t>(result.words.size(), 300));
    result.advice = std::move(advice);
    // both are shown on terminals and in logs: control characters and line breaks must not pass
    for (auto* const text : {&result.words, &result.advice})
        std::ranges::replace_if(*text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return result;
}

} // namespace

ServerError classify(std::string_view reply)
{
    auto const words = unwrap(reply);
    auto const word = words.substr(0, words.find(' '));
    // Redis 6 and 7.0 report commands and keys inside scripts this way, without NOPERM.
    if (word == "NOPERM" || mentions(words, "The user executing the script can't"))
        return with(words, errc::permission_denied, true, false, permission_advice(words));
    for (auto const& rule : rules)
        if (word == rule.word)
            return with(words, rule.error, rule.fatal, rule.reconnect, std::string(rule.advice));
    // INCR on a counter of fencing tokens with a foreign value
    if (mentions(words, "value is not an integer") || mentions(words, "increment or decrement would overflow"))
        return with(
            words, errc::key_conflict, true, false,
            "another program wrote the key that counts fencing tokens: delete that key");
    switch (meaning_of(words)) {
    case ErrorMeaning::command_unavailable:
    case ErrorMeaning::script_text_refused:
        return with(words, errc::wrong_server, true, false, unavailable_advice(words));
    case ErrorMeaning::permission_missing:
        return with(words, errc::permission_denied, true, false, permission_advice(words));
    case ErrorMeaning::login_missing:
        return with(words, errc::authentication_failed, true, false, "give user and password");
    case ErrorMeaning::login_wrong:
        return with(words, errc::authentication_failed, true, false, "check user and password");
    default:
        break;
    }
    // BUSY, MISCONF, OOM, NOREPLICAS, TRYAGAIN, CLUSTERDOWN, too many clients, and errors of later versions
    return with(words, errc::store_refused, false, false, "");
}

bool concerns_single_key(ServerError const& error) noexcept
{
    if (error.meaning == ErrorMeaning::command_unavailable || error.meaning == ErrorMeaning::script_text_refused)
        return false;
    return error.error == errc::permission_denied || error.error == errc::key_conflict ||
           error.error == errc::wrong_server ||
           (error.error == errc::store_refused &&
            (error.words.starts_with("ERR") || error.words.starts_with("TRYAGAIN")));
}

Failure refused(ServerError const& error, std::string_view where, std::string_view what)
{
    std::string detail(where);
    if (!what.empty())
        detail.append(": ").append(what);
    detail.append(": ").append(error.words);
    if (!error.advice.empty())
        detail.append("; ").append(error.advice);
    return Failure::refused(error.error, std::move(detail), error.fatal);
}

} // namespace tenure::redis
