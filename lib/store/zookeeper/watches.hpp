// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/zookeeper/session/ensemble.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

/** Watches of waiters, set by watches of the server.
 *
 *  For a range with one key its node is watched, and its deletion is a hint at once. For other ranges the parent's
 *  children are watched. Most changes are claims, so a change is a hint only for ranges that have a free key by then.
 *
 *  Waiters of a key that is held in places follow the nodes that block them, which their claims find. Its observers
 *  watch the children. */
class Watches : public std::enable_shared_from_this<Watches>
{
public:
    explicit Watches(EnsemblePtr ensemble)
        : ensemble_(std::move(ensemble))
    {
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler);
    /** The waiters of the key get a hint once this node is gone; of the key's own node, when its children change. */
    void follow(KeyRange const& key, std::string const& node);
    void close() noexcept;

private:
    struct Subscriber {
        KeyRangePtr range;
        WatchHandler handler;
        bool in_force = false;
        /// nodes that block its places
        std::set<std::string> follows = {};
    };
    using Notify = std::function<void(Subscriber&)>;
    /** A watched node: of a key, the parent of many, or a place. Waiters of shares also have an entry for all of them,
     *  which is no node. */
    struct Watched {
        bool is_parent = false;
        /// each is owned by its subscription
        std::vector<std::weak_ptr<Subscriber>> subscribers;
        Session::Use use;
        /// the server's watch is being set
        bool arming = false;
        /// another change happened meanwhile
        bool again = false;
        /// of places and their parents: the server's watch is set
        bool armed = false;
    };

    void listen();
    void unsubscribe(std::string const& path, std::shared_ptr<Subscriber> const& gone);
    void remove_from(std::string const& path, std::shared_ptr<Subscriber> const& gone);
    void on_event(Session const& session, SessionEvent const& event);
    void on_node_event(SessionEvent const& event);
    void on_connection(bool connected);
    void changed(std::string const& path);
    /** Sets the server's watch of a node, again while changes happen meanwhile. */
    [[nodiscard]] static store::Request<std::monostate> arm(std::shared_ptr<Watches> self, std::string path);
    void armed(std::string const& path, bool is_parent, Response const& response);
    void notify(std::string const& path, Notify const& how) const;
    /** A followed node is gone. */
    void end_following(std::string const& path);

    EnsemblePtr ensemble_;
    SessionPtr session_;
    std::map<std::string, Watched> watched_;
    bool closed_ = false;
};

} // namespace tenure::zookeeper
