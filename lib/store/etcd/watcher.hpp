// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster_context.hpp"
#include "store/etcd/http/messages.hpp"

#include "runtime/names.hpp"
#include "runtime/once_per_turn.hpp"
#include "runtime/repeated_causes.hpp"
#include "runtime/timer.hpp"
#include "store/hint_registry.hpp"

#include <net/backoff.hpp>
#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::etcd
{

/** Watches ranges for deleted keys, over streams of the watch method; each stream has a separate connection.
 *
 *  HTTP/1.1 cannot add a watch to a running stream, so watches that begin in one turn of the loop share a stream, and
 *  small streams are joined when there are many. A stream takes watches up to `most_watch_bytes`. A restarted watch
 * resumes at its last revision and misses nothing, unless that revision was compacted. */
class Watcher : public std::enable_shared_from_this<Watcher>
{
public:
    using Handler = WatchHandler;

    explicit Watcher(ClusterPtr cluster);
    Watcher(Watcher const&) = delete;
    Watcher& operator=(Watcher const&) = delete;
    ~Watcher();

    /** Call it right after construction. */
    void start();

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRange const& range, Handler handler);

    /** Ends all streams. Handlers of remaining watches are not called again. */
    void close() noexcept;

private:
    struct Watched {
        /// the first revision whose events have not arrived; 0: unknown
        std::uint64_t next_revision = 0;
        bool in_force = false;
        bool refused = false;
        /// number of its stream; 0: none
        std::uint64_t stream = 0;
    };
    struct Stream {
        Stream(Runtime& runtime, std::vector<Keys> watched, std::size_t length)
            : names(std::move(watched))
            , bytes(length)
            , limit(runtime)
        {
        }
        /// null until the current revision is known
        std::shared_ptr<Connection> connection;
        /// in the order of their watch ids, which count from 1
        std::vector<Keys> names;
        /// at most, of the requests that create its watches
        std::size_t bytes;
        /// for connecting
        Timer limit;
    };

    void begin_soon();
    void begin();
    void begin_stream(std::vector<Keys> names, std::size_t bytes);
    /** Drops the streams that leave most of their room unused: their watches begin again together. */
    void drop_small();
    void learn_revision(std::uint64_t number);
    void revision_learned(std::uint64_t number, Outcome outcome);
    void connect(std::uint64_t number);
    void connected(std::uint64_t number);
    void on_line(std::uint64_t number, std::string_view line);
    void look_for_refused(std::vector<Keys> const& names);
    void cancelled(Keys const& name, std::string const& reason, bool compacted);
    enum class Fault {
        /// the connection was lost, or never established
        lost,
        /// permanent protocol error: do not retry from the same revision
        useless
    };
    void broken(std::uint64_t number, std::string const& why, Fault fault = Fault::lost);
    void drop(std::uint64_t number) noexcept;
    void drop_all() noexcept;
    void join_all();
    void refuse(Keys const& name, std::string const& why);
    void sweep();
    [[nodiscard]] Watched* in_stream(Keys const& name, std::uint64_t number);

    ClusterPtr cluster_;
    net::Backoff backoff_;
    RepeatedCauses interruptions_;
    store::HintRegistry<Keys, Watched> watched_;
    std::map<std::uint64_t, Stream> streams_;
    std::uint64_t last_stream_ = 0;
    OncePerTurn begin_;
    /// delays the next stream after failures
    Timer pause_;
    Timer sweep_;
    bool refusal_logged_ = false;
    bool closed_ = false;
};

} // namespace tenure::etcd
