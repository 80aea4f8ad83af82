// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Handshake: HELLO or AUTH, ROLE, SELECT, INFO, a script, and WAIT.
#include "connection_handshake.hpp"

#include "store/redis/wire/error_meaning.hpp"
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

/// HELLO is unavailable (before Redis 6, some proxies), RESP3 is not supported, or HELLO alone is not permitted. A
/// proxy may accept nothing but AUTH before the login.
bool wants_older_login(ErrorMeaning refusal, bool has_password) noexcept
{
    switch (refusal) {
    case ErrorMeaning::command_unavailable:
    case ErrorMeaning::arguments_unknown:
    case ErrorMeaning::permission_missing:
        return true;
    case ErrorMeaning::login_missing:
        return has_password;
    default:
        return false;
    }
}

} // namespace

Handshake::Handshake(RedisConfig const& config, HandshakeNeeds needs)
    : username_(config.username)
    , password_(config.password)
    , credentials_(config.credentials)
    , database_(config.database)
    , needs_(needs)
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
    case Step::script:
        resp::Command("EVAL", "return 1", 0).append_to(bytes_);
        break;
    case Step::wait:
        // for zero replicas it is answered at once
        resp::Command("WAIT", 0, 1).append_to(bytes_);
        break;
    case Step::done:
        return Progress::done;
    }
    return Progress::more;
}

Handshake::Progress Handshake::after_login()
{
    was_accepted_ = true;
    return needs_.master_only && server_.role.empty() ? ask(Step::role) : after_role();
}

Handshake::Progress Handshake::after_role()
{
    if (needs_.master_only && server_.role != "master")
        return refuse(
            errc::store_refused, false,
            "the server is no master (its role is '" + server_.role + "'), so nothing was asked of it");
    // every connection begins in database 0, and the user may lack the permission for SELECT
    return database_ == 0 ? after_select() : ask(Step::select);
}

Handshake::Progress Handshake::after_select()
{
    return needs_.run_id ? ask(Step::info) : after_info();
}

Handshake::Progress Handshake::after_info()
{
    return needs_.scripts ? ask(Step::script) : after_script();
}

Handshake::Progress Handshake::after_script()
{
    return ask(needs_.acknowledged_by > 0 ? Step::wait : Step::done);
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
    case Step::script:
        return script_reply(value);
    case Step::wait:
        return wait_reply(value);
    case Step::done:
        break;
    }
    return refuse(value);
}

Handshake::Progress Handshake::hello_reply(resp::Value const& value)
{
    if (value.is_error()) {
        if (!wants_older_login(meaning_of(value.as_string()), !password_.empty()))
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
    return after_info();
}

Handshake::Progress Handshake::script_reply(resp::Value const& value)
{
    if (value.is_error()) {
        auto const meaning = meaning_of(value.as_string());
        if (meaning == ErrorMeaning::command_unavailable || meaning == ErrorMeaning::login_missing)
            return refuse(value);
    }
    // a claim reports other errors with its key
    return after_script();
}

Handshake::Progress Handshake::wait_reply(resp::Value const& value)
{
    if (value.is_error()) {
        auto const meaning = meaning_of(value.as_string());
        if (meaning == ErrorMeaning::command_unavailable || meaning == ErrorMeaning::permission_missing)
            return refuse(value);
    }
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

} // namespace tenure::redis
