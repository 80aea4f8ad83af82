// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/zookeeper/session/ensemble.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tenure::zookeeper
{

/** What somebody waits for, told by watches of the server.
 *
 *  Of a range with one key its node is watched: that it was deleted is passed on as a hint at once. Of other ranges the
 * parent's children are watched, and a change is passed on only to those in whose range a key is free by then, because
 * most changes are that somebody took one. */
class Watches : public std::enable_shared_from_this<Watches>
{
public:
    explicit Watches(EnsemblePtr ensemble)
        : ensemble_(std::move(ensemble))
    {
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, std::function<void(WatchEvent)> handler);
    void close() noexcept;

private:
    class Subscription;
    struct Subscriber {
        KeyRangePtr range;
        std::shared_ptr<std::function<void(WatchEvent)>> handler;
        bool in_force = false;
    };
    /** A node that is watched: that of a key, or the parent of many. */
    struct Watched {
        bool is_parent = false;
        std::map<std::uint64_t, Subscriber> subscribers;
        Session::Use use;
        /// the server's watch is being set
        bool arming = false;
        /// something changed once more meanwhile
        bool again = false;
    };

    void listen();
    void unsubscribe(std::string const& path, std::uint64_t id);
    void told(SessionEvent const& event);
    void changed(std::string const& path);
    void connection(Session::Change change);
    void arm(std::string const& path);
    void arm_parent(std::string const& path);
    void armed(std::string const& path, Answer const& answer);
    void disarm(std::string const& path);
    void tell(std::string const& path, std::function<void(Subscriber&)> const& what);

    EnsemblePtr ensemble_;
    SessionPtr session_;
    std::map<std::string, Watched> watched_;
    std::uint64_t last_id_ = 0;
    bool closed_ = false;
};

} // namespace tenure::zookeeper
