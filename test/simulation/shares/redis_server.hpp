// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "place_book.hpp"

#include "places/lua_server.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace tenure::simulation
{

/** A Redis server with the commands that places need. It runs the scripts that it receives, and the book sees each of
 * them. */
class ShareServer final : public LuaServer
{
public:
    /** One connection. */
    struct Client {
        std::function<void(Reply const&)> send;
        std::set<std::string> channels = {};
    };

    ShareServer(testing::VirtualTime& time, PlaceBook& book)
        : time_(time)
        , book_(book)
    {
    }

    void opened(Client& client) { clients_.insert(&client); }
    void closed(Client& client) { clients_.erase(&client); }
    void execute(Client& client, Words const& words);
    void forget_scripts() { scripts_.clear(); }

private:
    void publish(std::string const& channel, std::string const& message) override;
    [[nodiscard]] Reply answer(Words const& words);
    [[nodiscard]] Reply run_script(Words const& words);
    /** Tells the book of a script that ran. */
    void witness(redis::Script const& script, Words const& keys, Words const& values, Reply const& reply);
    void witness_claim(std::string const& key, Words const& values, Reply const& reply);

    testing::VirtualTime& time_;
    PlaceBook& book_;
    std::set<Client*> clients_;
    /// by SHA-1
    std::map<std::string, redis::Script> scripts_;
};

} // namespace tenure::simulation
