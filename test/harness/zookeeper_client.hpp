// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::test
{

/** What a node holds, and the parts of its stat that tests look at. */
struct ZookeeperNode {
    std::string data;
    std::int64_t czxid = 0;
    std::int32_t version = 0;
    std::int64_t ephemeral_owner = 0;
};

/** A client of the tests' own, which shares nothing with the library: it speaks the protocol itself, blocks, and throws
 * std::runtime_error where something fails. Its session ends with it, and with a minute without a request. */
class ZookeeperClient
{
public:
    /** @param login  `user:password` of the scheme digest; empty: none */
    explicit ZookeeperClient(std::uint16_t port, std::string const& login = {});
    ZookeeperClient(ZookeeperClient const&) = delete;
    ZookeeperClient& operator=(ZookeeperClient const&) = delete;
    ~ZookeeperClient();

    /** False: it exists already, or its parent does not. */
    bool create(std::string const& path, std::string const& data, bool ephemeral);
    /** False: there is none. */
    bool remove(std::string const& path);
    bool set(std::string const& path, std::string const& data);
    [[nodiscard]] std::optional<ZookeeperNode> get(std::string const& path);
    [[nodiscard]] std::vector<std::string> children(std::string const& path);
    /** Creates a node that stays, and those above it. */
    void create_all(std::string const& path);
    /** Catches up with the leader. */
    void sync(std::string const& path);
    [[nodiscard]] std::int64_t session() const noexcept { return session_; }

private:
    struct Reply {
        std::int32_t code = 0;
        std::string body;
    };
    Reply call(std::int32_t operation, std::string const& body);
    Reply call_as(std::int32_t number, std::int32_t operation, std::string const& body);
    [[nodiscard]] std::string read_frame();

    int socket_ = -1;
    std::int64_t session_ = 0;
    std::int32_t last_number_ = 0;
};

/** What a server answers to a word like `srvr`; empty if nobody answers. */
[[nodiscard]] std::string zookeeper_word(std::uint16_t port, std::string_view word);

} // namespace tenure::test
