// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::test
{

enum class ZookeeperOperation : std::int32_t;

/** The data of a node, and the parts of its stat that tests look at. */
struct ZookeeperNode {
    std::string data;
    std::int64_t czxid = 0;
    std::int32_t version = 0;
    std::int64_t ephemeral_owner = 0;
};

/** A client of the tests' own, which shares nothing with the library: it speaks the protocol itself, blocks, and throws
 * std::runtime_error where something fails. Its session ends with it, and with a minute without a request. */
class ZookeeperClient : Immovable
{
public:
    /** @param login  `user:password` of the scheme digest; empty: none
     *  @param limit  for each answer; after a time-out the client is unusable */
    explicit ZookeeperClient(
        std::uint16_t port, std::string const& login = {}, std::chrono::milliseconds limit = std::chrono::seconds{10});
    ~ZookeeperClient();

    /** Takes another client's session over: from now on writes over that one's connection are refused, if it leads to
     * another server. This works without the password, because servers derive a session's
     * password from its number.
     *  @param timeout  that the session has */
    static ZookeeperClient in_session(std::uint16_t port, std::int64_t session, std::chrono::milliseconds timeout);
    /** Ends the session, and with it its nodes. The destructor does so too, and says nothing where it fails. */
    void close();

    /** False: it exists already, or its parent does not. */
    bool create(std::string const& path, std::string const& data, bool ephemeral);
    /** False: there is none, or its version is another. @param version  -1: any */
    bool remove(std::string const& path, std::int32_t version = -1);
    bool set(std::string const& path, std::string const& data, std::int32_t version = -1);
    /** In one step a node of this session stands where another one stood; its own version is 0, which that of a node
     * that the library has claimed is not. False: there is none, or its version is another. */
    bool replace(std::string const& path, std::string const& data, std::int32_t version);
    [[nodiscard]] std::optional<ZookeeperNode> get(std::string const& path);
    /** The nodes as they are now, not as a server that was cut off or left behind knows them: a write of `mark`, which
     * a majority has to accept, goes first over the same connection. One round trip. */
    [[nodiscard]] std::vector<std::optional<ZookeeperNode>>
    get_after_write(std::string const& mark, std::vector<std::string> const& paths);
    [[nodiscard]] std::vector<std::string> children(std::string const& path);
    /** Creates a node that stays, and those above it. */
    void create_all(std::string const& path);
    /** Catches up with the leader. */
    void sync(std::string const& path);
    [[nodiscard]] std::int64_t session() const noexcept { return session_; }

private:
    struct Hello {
        std::int64_t session = 0;
        std::chrono::milliseconds timeout{};
        /// 16 bytes
        std::string password;
    };
    struct Reply {
        std::int32_t code = 0;
        std::string body;
    };
    /** A connection, closed with the object. */
    struct Socket : Immovable {
        explicit Socket(int opened) noexcept
            : descriptor(opened)
        {
        }
        ~Socket();
        int descriptor;
    };

    ZookeeperClient(std::uint16_t port, Hello const& hello, std::chrono::milliseconds limit);
    Reply call(ZookeeperOperation operation, std::string const& body);
    Reply call_as(std::int32_t number, ZookeeperOperation operation, std::string const& body);
    /** Sends what was framed already; the answers to the numbers from `first` on, in order. */
    [[nodiscard]] std::vector<Reply> exchange(std::string const& frames, std::int32_t first, std::size_t count);
    [[nodiscard]] std::string read_frame();

    Socket socket_;
    std::int64_t session_ = 0;
    std::int32_t last_number_ = 0;
    /// false: closed, or an answer is missing
    bool usable_ = true;
};

/** The answer of a server to a word like `srvr`; empty without an answer. */
[[nodiscard]] std::string zookeeper_word(std::uint16_t port, std::string_view word);

} // namespace tenure::test
