// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "store/redis/wire/error_meaning.hpp"

#include <tenure/errc.hpp>
#include <tenure/stores/redis.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** Why a server cannot be used. */
struct Refusal {
    error_code error;
    /// the server's error text without secrets, and advice
    std::string detail;
    /// permanent until a person acts
    bool fatal = false;
};

/** The needs of a connection beyond a login. */
struct HandshakeNeeds {
    bool master_only = false;
    bool run_id = false;
    /// the server or proxy runs scripts: without them a claim by SET could not be released
    bool scripts = false;
    /// replicas that WAIT will count; 0: no WAIT follows
    std::uint32_t acknowledged_by = 0;
};

/** The dialogue that makes a fresh connection usable. It sends HELLO or AUTH, then ROLE if only a master will do and
 *  HELLO did not report the role, then SELECT, INFO if the run id is needed, a script that does nothing, and a
 *  WAIT for no replica. Pure: replies in, bytes out.
 *
 *  Each step waits for a good reply to the previous step. The caller must send nothing else meanwhile: commands after a
 *  refused AUTH would run as the default user, and commands after a refused SELECT in database 0. */
class Handshake
{
public:
    enum class Progress { more, done, refused };

    explicit Handshake(RedisConfig const& config, HandshakeNeeds needs = {});

    /** Restarts for a new connection; `bytes` then holds the first request. Rethrows exceptions of the config's
     *  credentials callback.
     *  @param address  of the server, if it is not the one in the config */
    void start(std::string address = {});

    /** Processes the reply to the last request. */
    [[nodiscard]] Progress reply(resp::Value const& value);

    /** The next bytes to write; empty unless `start` or `reply` produced some. */
    [[nodiscard]] std::string take_bytes();
    [[nodiscard]] bool has_bytes() const noexcept { return !bytes_.empty(); }

    [[nodiscard]] Refusal const& refusal() const noexcept { return refusal_; }
    [[nodiscard]] ServerInfo const& server() const noexcept { return server_; }

    /** The text in printable form without the password, cut to `most` bytes. */
    [[nodiscard]] std::string harmless(std::string_view text, std::size_t most = 256) const;

private:
    enum class Step { hello, auth, role, select, info, script, wait, done };

    Progress ask(Step step);
    Progress after_login();
    Progress after_role();
    Progress after_select();
    Progress after_info();
    Progress hello_reply(resp::Value const& value);
    Progress role_reply(resp::Value const& value);
    Progress info_reply(resp::Value const& value);
    Progress after_script();
    Progress script_reply(resp::Value const& value);
    Progress wait_reply(resp::Value const& value);
    Progress refuse(resp::Value const& value);
    /// @param words  the server's error in brackets, before advice
    Progress refuse_login(ErrorMeaning meaning, std::string const& words);
    Progress refuse_permission(std::string const& words);
    Progress refuse_command(std::string const& words);
    Progress refuse(errc error, bool fatal, std::string detail);
    bool read_server(resp::Value const& value);
    [[nodiscard]] std::string user() const;

    /// of the current login
    std::string username_;
    std::string password_;
    /// null: fixed credentials
    CredentialsSource credentials_;
    /// the server has accepted a login
    bool was_accepted_ = false;
    std::uint32_t database_;
    HandshakeNeeds needs_;
    Step step_ = Step::hello;
    std::string bytes_;
    Refusal refusal_;
    ServerInfo server_;
};

} // namespace tenure::redis
