// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Handshake: HELLO or AUTH, ROLE, SELECT and INFO.
#include "connection_handshake.hpp"

#include "store/redis/wire/server_info.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace tenure::redis
{

namespace
{

bool contains(std::string_view text, std::string_view part) noexcept
{
    return text.find(part) != std::string_view::npos;
}

/// HELLO is unknown (before Redis 6, some proxies), RESP3 is not supported, or HELLO alone is not permitted
bool wants_older_login(std::string_view error) noexcept
{
    return error.starts_with("NOPROTO") || error.starts_with("NOPERM") || contains(error, "unknown command") ||
           contains(error, "unsupported command") || contains(error, "wrong number of arguments");
}

} // namespace

Handshake::Handshake(RedisConfig const& config, bool master_only, bool learns_run_id)
    : username_(config.username)
    , password_(config.password)
    , credentials_(config.credentials)
    , database_(config.database)
    , master_only_(master_only)
    , learns_run_id_(learns_run_id)
{
}

void Handshake::start(std::string address)
{
    bytes_.clear();
    refusal_ = {};
    server_ = {};
    server_.address = std::move(address);
    if (credentials_) {
        auto now = credentials_();
        // without a password the connection would be the default user's
        if (now.password.empty())
            throw std::runtime_error("it returned no password");
        username_ = std::move(now.username);
        password_ = std::move(now.password);
    }
    (void)ask(Step::hello);
}

std::string Handshake::take_bytes()
{
    return std::exchange(bytes_, {});
}

Handshake::Progress Handshake::ask(Step step)
{
    step_ = step;
    switch (step) {
    case Step::hello: {
        resp::Command hello("HELLO", 3);
        if (!password_.empty())
            hello.add("AUTH").add(username_.empty() ? std::string_view("default") : username_).add(password_);
        hello.append_to(bytes_);
        break;
    }
    case Step::auth: {
        resp::Command auth("AUTH");
        if (!username_.empty())
            auth.add(username_);
        auth.add(password_).append_to(bytes_);
        break;
    }
    case Step::role:
        resp::Command("ROLE").append_to(bytes_);
        break;
    case Step::select:
        resp::Command("SELECT", database_).append_to(bytes_);
        break;
    case Step::info:
        resp::Command("INFO", "server").append_to(bytes_);
        break;
    case Step::done:
        return Progress::done;
    }
    return Progress::more;
}

Handshake::Progress Handshake::after_login()
{
    was_accepted_ = true;
    return master_only_ && server_.role.empty() ? ask(Step::role) : after_role();
}

Handshake::Progress Handshake::after_role()
{
    if (master_only_ && server_.role != "master")
        return refuse(
            errc::store_refused, false,
            "the server is no master (its role is '" + server_.role + "'), so nothing was asked of it");
    // every connection begins in database 0, and the user may lack the permission for SELECT
    return database_ == 0 ? after_select() : ask(Step::select);
}

Handshake::Progress Handshake::after_select()
{
    return ask(learns_run_id_ ? Step::info : Step::done);
}

Handshake::Progress Handshake::reply(resp::Value const& value)
{
    switch (step_) {
    case Step::hello:
        return hello_reply(value);
    case Step::auth:
        if (value.is_ok())
            return after_login();
        break;
    case Step::role:
        return role_reply(value);
    case Step::select:
        if (value.is_ok())
            return after_select();
        break;
    case Step::info:
        return info_reply(value);
    case Step::done:
        break;
    }
    return refuse(value);
}

Handshake::Progress Handshake::hello_reply(resp::Value const& value)
{
    if (value.is_error()) {
        if (!wants_older_login(value.as_string()))
            return refuse(value);
        server_.protocol = 2;
        return password_.empty() ? after_login() : ask(Step::auth);
    }
    if (!read_server(value))
        return refuse(errc::protocol_error, false, "unexpected reply to HELLO: is this a Redis or Valkey server?");
    return after_login();
}

Handshake::Progress Handshake::role_reply(resp::Value const& value)
{
    auto const parts = value.elements();
    if (parts.empty() || !parts.front().is_string())
        return refuse(value);
    server_.role = harmless(parts.front().as_string());
    return after_role();
}

Handshake::Progress Handshake::info_reply(resp::Value const& value)
{
    if (value.is_error())
        return refuse(value);
    auto const run_id = value.is_string() ? info_line(value.as_string(), "run_id") : std::string_view();
    auto const is_alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
    if (run_id.size() != resp::Command::run_id_size || !std::ranges::all_of(run_id, is_alphanumeric))
        return refuse(
            errc::store_refused, true,
            "the server's INFO tells no run id of " + std::to_string(resp::Command::run_id_size) +
                " letters and digits, by which another process is known after a failover: use Redis or Valkey "
                "themselves, or switch delay_after_failover off");
    server_.run_id = run_id;
    return ask(Step::done);
}

bool Handshake::read_server(resp::Value const& value)
{
    if (value.type() != resp::Type::map && value.type() != resp::Type::array)
        return false;
    auto const elements = value.elements();
    server_.protocol = value.type() == resp::Type::map ? 3 : 2;
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
        auto const name = elements[i].as_string();
        auto const text = elements[i + 1].as_string();
        if (name == "server")
            server_.server = harmless(text);
        else if (name == "version")
            server_.version = harmless(text);
        else if (name == "mode")
            server_.mode = harmless(text);
        else if (name == "role")
            server_.role = harmless(text);
    }
    return !server_.server.empty();
}

Handshake::Progress Handshake::refuse(errc error, bool fatal, std::string detail)
{
    refusal_ = Refusal{make_error_code(error), std::move(detail), fatal};
    return Progress::refused;
}

Handshake::Progress Handshake::refuse(resp::Value const& value)
{
    if (!value.is_error())
        return refuse(errc::protocol_error, false, "an answer to the login that is none");
    auto const error = value.as_string();
    auto const words = harmless(error);
    auto const word = value.error_word();
    auto const user = username_.empty() ? std::string("the default user") : "user '" + username_ + "'";
    // a new password may reach the server before it reaches the program
    bool const for_good = credentials_ == nullptr || !was_accepted_;

    if (word == "WRONGPASS" || contains(error, "invalid password") || contains(error, "invalid username-password"))
        return refuse(
            errc::authentication_failed, for_good,
            "the server refused the login of " + user + " (" + words + "): correct user or password");
    if (word == "NOAUTH" || contains(error, "Authentication required"))
        return refuse(
            errc::authentication_failed, true,
            "the server asks for a password and none is configured (" + words + "): configure user and password");
    if (step_ == Step::auth && (contains(error, "no password is set") || contains(error, "without any password")))
        return refuse(
            errc::authentication_failed, true,
            "a password is configured, and the server has none (" + words + "): remove it, or is this another server?");
    if (step_ == Step::auth && contains(error, "wrong number of arguments"))
        return refuse(
            errc::authentication_failed, true,
            "the server knows no users (" + words + "): configure a password alone, or use Redis 6 or newer");
    if (word == "NOPERM" && step_ == Step::select)
        return refuse(
            errc::permission_denied, true,
            user + " may not SELECT database " + std::to_string(database_) + " (" + words +
                "): grant +select, or use database 0");
    if (word == "NOPERM" && step_ == Step::role)
        return refuse(
            errc::permission_denied, true,
            user + " may not ask whether the server is the master (" + words + "): grant +role");
    if (word == "NOPERM" && step_ == Step::info)
        return refuse(
            errc::permission_denied, true,
            user + " may not ask for the server's run id (" + words +
                "): grant +info, or switch delay_after_failover off");
    if (word == "NOPERM")
        return refuse(errc::permission_denied, true, user + " may not log in (" + words + "): grant +@connection");
    if (word == "DENIED")
        return refuse(
            errc::permission_denied, true,
            "the server takes no connections from here (" + words + "): set a password or protected-mode no there");
    bool const is_passing = word == "LOADING" || word == "MASTERDOWN" || word == "BUSY" || word == "TRYAGAIN" ||
                            word == "CLUSTERDOWN" || word == "MISCONF" || word == "OOM" ||
                            contains(error, "max number of clients");
    if (step_ == Step::select && !is_passing)
        return refuse(
            errc::wrong_database, true,
            "the server refused database " + std::to_string(database_) + " (" + words +
                "): use one that it has, 0 in a cluster");
    return refuse(errc::store_refused, false, "the server refused the login for now: " + words);
}

std::string Handshake::harmless(std::string_view text, std::size_t most) const
{
    constexpr std::string_view mask = "***";
    // the error for an unknown command repeats its arguments, which include the password at login
    constexpr std::string_view arguments = ", with args";
    std::string result;
    // a password that crosses the end of the limit is still found and hidden completely
    while (!text.empty() && result.size() < most) {
        if (!password_.empty() && text.starts_with(password_)) {
            result += mask;
            text.remove_prefix(password_.size());
        } else if (text.starts_with(arguments)) {
            break;
        } else {
            result += text.front();
            text.remove_prefix(1);
        }
    }
    result.resize(std::min(result.size(), most));
    std::ranges::replace_if(result, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return result;
}

} // namespace tenure::redis
