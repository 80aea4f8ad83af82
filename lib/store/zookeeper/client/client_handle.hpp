// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request.hpp"

#include <tenure/backend/runtime.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

/** A change of a handle's session, or the event of a watch. */
struct SessionEvent {
    enum class Kind {
        connected,
        disconnected,
        expired,
        authentication_failed,
        /// of a watch, which has fired and is gone: the node, or a child of it
        node_changed,
        node_deleted
    };
    Kind kind;
    /// of the node, for the event of a watch
    std::string path = {};
};

/** One handle of the C client in its single-threaded form, which does nothing by itself: `interest` says what it waits
 *  for, and `process` lets it work when that has come.
 *
 *  Nothing is called back from inside the C client: events are collected, and `take` hands them out. The C client keeps
 * its counter of requests and the buffers of its log lines in statics, so all calls of a process into it are made one
 * after another; none of them blocks.
 */
class ClientHandle
{
public:
    struct Settings {
        /// of the store, for the log
        std::string name;
        /// numeric addresses: `127.0.0.1:2181,::1:2182`. The C client's resolver would block
        std::string servers;
        std::chrono::milliseconds timeout{};
        /// `user:password` of the scheme digest; empty: none
        std::string login = {};
    };
    /** What the C client waits for. */
    struct Interest {
        /// -1: none for now. It belongs to the C client
        int descriptor = -1;
        /// distinguishes two connections that got the same descriptor one after another
        std::uint64_t identity = 0;
        bool write = false;
        std::chrono::microseconds timeout{};
        /// no event will come: the session has expired, or its login was refused
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
    /** Drops the connection and forgets open requests. The session stays until its timeout. */
    ~ClientHandle();

    /** Requests leave with the next call of `interest`, all in one piece; but at once while no response is awaited.
     */
    void ask(Request request, ResponseHandler handler);
    /** Ends all watches of a node. An open request may still begin one. */
    void unwatch(std::string const& path);
    [[nodiscard]] Interest interest();
    /** To be followed by `interest`, in the end. */
    void process(bool readable, bool writable);

    /** Ends the connection, as if the server had done so; another server is tried next. */
    void drop_connection();
    /** Asks the server to end the session now, in the socket's own buffer and without waiting: the C client's own way
     * waits for the response. No request may follow. */
    void end_session();
    void set_servers(std::string const& servers);
    /** Answers all open requests with ZCLOSING. No request may follow. */
    void fail_pending();

    /** Hands out the events since the last call, in order. @param into  is overwritten */
    void take(std::vector<Event>& into);

    [[nodiscard]] bool connected() const;
    /** The timeout that the server granted. */
    [[nodiscard]] std::chrono::milliseconds timeout() const;
    [[nodiscard]] std::int64_t session_id() const;
    /** When the oldest open request was sent; the greatest instant without one. */
    [[nodiscard]] Instant oldest_unanswered() const noexcept;
    /** The C client's last complaint, in its own words. */
    [[nodiscard]] std::string const& last_words() const noexcept { return last_words_; }

private:
    /** An open request, as the C client takes it: the call that sends it, and the context of the callback. It does not
     * move, because the C client writes into it. */
    struct Pending {
        Pending(ClientHandle* of, std::uint64_t number)
            : owner(of)
            , id(number)
        {
        }

        /** Hands it to the C client. @param acl  of what it creates  @returns ZOK, or why it will not be answered */
        [[nodiscard]] int submit(zhandle_t* handle, ACL_vector const* acl);

        ClientHandle* owner;
        std::uint64_t id;
        Request request{};
        ResponseHandler handler;
        Instant sent{};
        // of a transaction; its parts, in order
        std::array<zoo_op_t, 3> operations{};
        std::array<zoo_op_result_t, 3> results{};
        std::size_t parts = 0;
        /// which of them concerns the generation
        std::size_t generation_part = 0;
        // of a claim
        Stat node{};
        Stat generation{};

    private:
        struct Callbacks;
    };
    struct Callbacks;

    [[nodiscard]] Pending& place(std::uint64_t id);
    /** Replaces the C client's socket, if it has one, by one that leads nowhere. */
    void cut() noexcept;
    [[nodiscard]] bool has_socket() const noexcept;
    [[nodiscard]] std::uint64_t identity_of_socket() const noexcept;
    /** Makes its socket keep what is written until it is flushed. */
    void set_cork(bool wanted) noexcept;
    /** A request was given to the C client. */
    void wrote(bool was_connected) noexcept;
    void flush() noexcept;
    void finish(std::uint64_t id, Response response);
    /** The C client logs a line. */
    void log(std::string_view line);

    Runtime& runtime_;
    Settings settings_;
    zhandle_t* handle_ = nullptr;
    /// the C client's socket, as it was named last
    int descriptor_ = -1;
    /// of the connection that `descriptor_` belongs to, 0: none
    std::uint64_t identity_ = 0;
    /// this connection's socket keeps what is written until it is flushed
    bool corked_ = false;
    /// and may keep so many requests now
    int unflushed_ = 0;
    /// the C client closed its socket while sending, and still keeps what was asked over it
    bool sending_failed_ = false;
    /// by number, so the oldest is first
    std::map<std::uint64_t, std::unique_ptr<Pending>> pending_;
    /// of the one that was answered last, for the next
    std::map<std::uint64_t, std::unique_ptr<Pending>>::node_type spare_;
    std::uint64_t last_id_ = 0;
    std::vector<Event> events_;
    std::string last_words_;
    std::uint64_t fork_generation_;
};

} // namespace tenure::zookeeper
