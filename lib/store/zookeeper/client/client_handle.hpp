// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "link.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

/** One handle of the C client in its single-threaded form. It works only in `process`, when the condition that
 *  `interest` reports has occurred.
 *
 *  Nothing is called back from inside the C client: events are collected, and `take` returns them. The C client keeps
 *  its counter of requests and the buffers of its log lines in statics, so calls of a process into it are serialized;
 *  no call blocks. */
class ClientHandle
{
public:
    using Settings = LinkSettings;
    /** Conditions that the C client waits for. */
    struct Interest {
        /// -1: none currently. Owned by the C client
        int descriptor = -1;
        /// distinguishes two successive connections with the same descriptor
        std::uint64_t identity = 0;
        bool write = false;
        std::chrono::microseconds timeout{};
        /// final: the session has expired, or its login was refused
        bool over = false;
    };
    struct Finished {
        ResponseHandler handler;
        Response response;
    };
    using Event = std::variant<SessionEvent, Finished>;

    /** @throws std::runtime_error if the C client cannot make a handle */
    ClientHandle(Runtime& runtime, Settings settings);
    ClientHandle(ClientHandle const&) = delete;
    ClientHandle& operator=(ClientHandle const&) = delete;
    /** Drops the connection and open requests. The session stays until its timeout. */
    ~ClientHandle();

    /** Requests are sent together in the next call of `interest`, or at once while no response is pending. */
    void ask(Request request, ResponseHandler handler);
    [[nodiscard]] Interest interest();
    /** Lets the C client work. Call `interest` afterwards. */
    void process(bool readable, bool writable);

    /** Ends the connection as if the server had done so; another server is tried next. */
    void drop_connection();
    /** Asks the server to end the session, by a write into the socket's buffer without waiting, because the C client
     *  would wait for the response. Send no request afterwards. */
    void end_session();
    void set_servers(std::string const& servers);
    /** Answers all open requests with ZCLOSING. Send no request afterwards. */
    void fail_pending();

    /** Takes the events since the last call, in order.
     *  @param into  is overwritten */
    void take(std::vector<Event>& into);

    [[nodiscard]] bool connected() const;
    /** The timeout that the server granted. */
    [[nodiscard]] std::chrono::milliseconds timeout() const;
    [[nodiscard]] std::int64_t session_id() const;
    /** When the oldest open request was sent; the maximum without one. */
    [[nodiscard]] Instant oldest_unanswered() const noexcept;
    /** The C client's last error text. */
    [[nodiscard]] std::string const& last_message() const noexcept { return last_message_; }

private:
    /** An open request in the form of the C client: the call that sends it, and the context of the callback. Its
     *  address is stable, because the C client writes into it. */
    struct Pending {
        Pending(ClientHandle* of, std::uint64_t number)
            : owner(of)
            , id(number)
        {
        }

        /** Submits it to the C client.
         *  @param acl  of created nodes
         *  @returns ZOK, or the error that prevents an answer */
        [[nodiscard]] int submit(zhandle_t* handle, ACL_vector const* acl);

        ClientHandle* owner;
        std::uint64_t id;
        Request request{};
        ResponseHandler handler;
        Instant sent{};
        // parts of a transaction, in order
        std::array<zoo_op_t, 3> operations{};
        std::array<zoo_op_result_t, 3> results{};
        std::size_t parts = 0;
        /// index of the part for the generation
        std::size_t generation_part = 0;
        // of a claim
        Stat node{};
        Stat generation{};

    private:
        struct Callbacks;

        /** Submits its transaction: a claim, or a change on condition of the generation. */
        [[nodiscard]] int submit_transaction(zhandle_t* handle, ACL_vector const* acl);
    };
    struct Callbacks;

    [[nodiscard]] Pending& place(std::uint64_t id);
    /** Replaces the C client's socket, if it has one, by an unconnected one. */
    void cut() noexcept;
    [[nodiscard]] bool has_socket() const noexcept;
    [[nodiscard]] std::uint64_t identity_of_socket() const noexcept;
    /** Sets whether its socket buffers writes until a flush. */
    void set_cork(bool wanted) noexcept;
    /** Counts a request that was given to the C client. */
    void wrote(bool was_connected) noexcept;
    void flush() noexcept;
    void finish(std::uint64_t id, Response response);
    /** Keeps the record of watches. */
    void note_watch(Request const& request, int code);
    /** Makes the C client forget its watches. */
    void forget_watches() noexcept;
    /** Records a log line of the C client. */
    void log(std::string_view line);

    Runtime& runtime_;
    Settings settings_;
    zhandle_t* handle_ = nullptr;
    /// the C client's socket, as last reported
    int descriptor_ = -1;
    /// of the connection of `descriptor_`, 0: none
    std::uint64_t identity_ = 0;
    /// the socket of this connection buffers writes until a flush
    bool corked_ = false;
    /// unflushed requests
    int unflushed_ = 0;
    /// the C client closed its socket while sending, and still keeps the requests
    bool sending_failed_ = false;
    /// by number, so the oldest is first
    std::map<std::uint64_t, std::unique_ptr<Pending>> pending_;
    /// node of the last answered request, reused for the next
    std::map<std::uint64_t, std::unique_ptr<Pending>>::node_type spare_;
    std::uint64_t last_id_ = 0;
    /// nodes that the C client watches on this connection
    std::unordered_set<std::string> watched_;
    std::vector<Event> events_;
    std::string last_message_;
    std::uint64_t fork_generation_;
};

} // namespace tenure::zookeeper
