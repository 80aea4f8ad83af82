// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// EVAL, EVALSHA and SCRIPT.
#include "server.hpp"

#include "../world.hpp"

#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

std::string sha1_of(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (unsigned at = 0; at < size; ++at) {
        hex += digits[digest[at] >> 4U];
        hex += digits[digest[at] & 15U];
    }
    return hex;
}

} // namespace

Reply RedisServer::eval(Words const& words)
{
    if (settings_.strictness == Strictness::text && !passes_check(words[1])) {
        now_.effects.push_back({Effect::Kind::another_trip, {}, 0, 0, 0});
        return Reply::error("ERR bad lua script for redis cluster, all the keys that the script uses should be passed "
                            "using the KEYS array");
    }
    auto [sum, is_new] = sums_.try_emplace(words[1]);
    if (is_new)
        sum->second = sha1_of(words[1]);
    scripts_.insert_or_assign(sum->second, words[1]);
    return run_script(sum->second, words[1], words);
}

Reply RedisServer::evalsha(Words const& words)
{
    auto const found = scripts_.find(words[1]);
    if (found == scripts_.end()) {
        // a script whose text is refused is unknown for ever
        if (settings_.strictness == Strictness::text)
            now_.effects.push_back({Effect::Kind::another_trip, {}, 0, 0, 0});
        else
            now_.effects.push_back({Effect::Kind::unknown_script, {}, owner_id(words[1]), 0, now_.written});
        return Reply::error("NOSCRIPT No matching script. Please use EVAL.");
    }
    // a copy: the script may flush the cache
    auto const text = found->second;
    return run_script(found->first, text, words);
}

Reply RedisServer::script(Words const& words)
{
    if (words[1] == "FLUSH") {
        forget_scripts();
        return Reply::ok();
    }
    if (words[1] == "LOAD" && words.size() == 3) {
        auto sha = sha1_of(words[2]);
        scripts_.insert_or_assign(sha, words[2]);
        return Reply::bulk(std::move(sha));
    }
    return Reply::error("ERR Unknown SCRIPT subcommand or wrong number of arguments.");
}

Reply RedisServer::run_script(std::string const& sha, std::string const& text, Words const& words)
{
    std::size_t count = 0;
    auto const [end, bad] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), count);
    if (bad != std::errc() || end != words[2].data() + words[2].size())
        return Reply::error("ERR value is not an integer or out of range");
    if (count > words.size() - 3)
        return Reply::error("ERR Number of keys can't be greater than number of args");
    auto const first_value = words.begin() + 3 + static_cast<std::ptrdiff_t>(count);
    declared_ = std::span(words).subspan(3, count);
    Reply reply;
    Lua::Error error;
    if (lua_.run(text, {words.begin() + 3, first_value}, {first_value, words.end()}, *this, reply, error))
        return reply;
    if (error.words.empty())
        world().checker.violate(Rule::s14, "a script fails: " + error.message);
    auto const line = std::to_string(error.line);
    if (settings_.flavor.old_script_errors)
        return Reply::error(
            "ERR Error running script (call to f_" + sha + "): @user_script:" + line + ": @user_script: " + line +
            ": -" + error.words);
    return Reply::error(error.words + " script: " + sha + ", on @user_script:" + line + ".");
}

} // namespace tenure::simulation
