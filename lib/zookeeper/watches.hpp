// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "ensemble.hpp"

#include <tenure/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tenure::zookeeper
{

/** One watch of the server for each parent of ranges that somebody waits for. A change of its children is passed on as
 * a hint only to those in whose range a key is free by then: most changes are that somebody took one. */
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
    struct Parent {
        std::map<std::uint64_t, Subscriber> subscribers;
        Session::Use use;
        /// the server's watch is being set
        bool arming = false;
        /// the children changed once more meanwhile
        bool again = false;
    };

    void listen();
    void unsubscribe(std::string const& parent, std::uint64_t id);
    void changed(std::string const& parent);
    void connection(Session::Change change);
    void arm(std::string const& parent);
    void armed(std::string const& parent, Answer const& answer);
    void tell(std::string const& parent, std::function<void(Subscriber&)> const& what);

    EnsemblePtr ensemble_;
    SessionPtr session_;
    std::map<std::string, Parent> parents_;
    std::uint64_t last_id_ = 0;
    bool closed_ = false;
};

} // namespace tenure::zookeeper
