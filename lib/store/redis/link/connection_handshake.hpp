// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"

#include <tenure/errc.hpp>
#include <tenure/stores/redis_config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** Why a server cannot be used. */
struct Refusal {
    error_code error;
    /// the server's words without secrets, and what to do
    std::string detail;
    /// a person has to act first
    bool fatal = false;
};

/** The dialogue that makes a fresh connection usable: HELLO or AUTH, ROLE where only a master will do and HELLO did not
 *  tell, then SELECT, and INFO where the run id is wanted. Pure: replies in, bytes out.
 *
 *  Each step waits for a good reply to the one before. Whoever runs it lets nothing else out until it is done: commands
 *  behind a refused AUTH would run as the default user, and those behind a refused SELECT in database 0.
 */
class Handshake
{
public:
    enum class Progress { more, done, refused };

    explicit Handshake(RedisConfig const& config, bool master_only = false, bool learns_run_id = false);

    /** Starts over, for a new connection; `bytes` then holds the first request. Throws what the config's credentials
     * callback throws.
     *  @param address  of the server, where the config does not tell */
    void start(std::string address = {});

    /** Takes the answer to the last bytes. */
    [[nodiscard]] Progress reply(resp::Value const& value);

    /** What has to be written next; empty unless `start` or a reply asked for more. */
    [[nodiscard]] std::string take_bytes();
    [[nodiscard]] bool has_bytes() const noexcept { return !bytes_.empty(); }

    [[nodiscard]] Refusal const& refusal() const noexcept { return refusal_; }
    [[nodiscard]] ServerInfo const& server() const noexcept { return server_; }

    /** The text in printable form, without the password and of bounded length: of `most` bytes at most. */
    [[nodiscard]] std::string harmless(std::string_view text, std::size_t most = 256) const;

private:
    enum class Step { hello, auth, role, select, info, done };

    Progress ask(Step step);
    Progress after_login();
    Progress after_role();
    Progress after_select();
    Progress hello_reply(resp::Value const& value);
    Progress role_reply(resp::Value const& value);
    Progress info_reply(resp::Value const& value);
    Progress refuse(resp::Value const& value);
    Progress refuse(errc error, bool fatal, std::string detail);
    bool read_server(resp::Value const& value);

    /// of the present login
    std::string username_;
    std::string password_;
    /// null: the login never changes
    CredentialsSource credentials_;
    std::uint32_t database_;
    bool master_only_;
    bool learns_run_id_;
    Step step_ = Step::hello;
    std::string bytes_;
    Refusal refusal_;
    ServerInfo server_;
};

} // namespace tenure::redis
