// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/zookeeper/client/request.hpp"

#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>

#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

/** What the nodes of a session are known to hold, and the proofs that wait for its next write.
 *
 *  A node is known from a read with a watch until the watch fires or the connection ends. A server delivers the event
 *  of a watch before the answer to any request that it executes after the change. So an answered write proves all known
 *  nodes: when the server executed it, each of them was as it had been read. Pure: no I/O, no clock. */
class NodeProofs
{
public:
    /** Responses to a write, and to the read of the node, which the write has confirmed. */
    using Handler = OneShot<void(Response const& write, Response const& read)>;

    struct Proof {
        std::string path;
        /// a proof that was not begun by then, or whose owner has given up, is dropped
        Deadline not_after;
        Handler handler;
    };

    [[nodiscard]] bool knows(std::string const& path) const { return known_.contains(path); }
    /** The content that was read of the node; only for a known node. */
    [[nodiscard]] Response read_of(std::string const& path) const
    {
        auto const& known = known_.at(path);
        Response read{ZOK};
        read.stat = known.stat;
        read.data = known.data;
        return read;
    }
    /** A read with a watch was answered on the present connection. */
    void was_read(std::string const& path, Response const& read) { known_[path] = {read.stat, read.data}; }
    /** The watch of a node has fired, or was ended. */
    void changed(std::string const& path) { known_.erase(path); }
    /** The connection ended, and all watches with it. */
    void disconnected() noexcept { known_.clear(); }

    /** A proof waits until its node has been read. False: a read is under way already. */
    [[nodiscard]] bool begin_read(Proof proof)
    {
        auto& of_node = reading_[proof.path];
        of_node.push_back(std::move(proof));
        return of_node.size() == 1;
    }
    /** Takes the proofs that waited for a read. */
    [[nodiscard]] std::vector<Proof> end_read(std::string const& path)
    {
        auto const found = reading_.extract(path);
        return found.empty() ? std::vector<Proof>() : std::move(found.mapped());
    }

    /** A proof waits for the next write. */
    void wait(Proof proof) { waiting_.push_back(std::move(proof)); }
    [[nodiscard]] bool any_waits() const noexcept { return !waiting_.empty(); }
    /** Takes the proofs that the write which is sent now decides. */
    [[nodiscard]] std::vector<Proof> take() { return std::exchange(waiting_, {}); }
    /** Takes all that wait, also for reads. */
    [[nodiscard]] std::vector<Proof> take_all()
    {
        auto all = take();
        for (auto& [path, proofs] : std::exchange(reading_, {}))
            std::move(proofs.begin(), proofs.end(), std::back_inserter(all));
        return all;
    }

private:
    struct Known {
        NodeStat stat;
        std::string data;
    };

    /// by path
    std::unordered_map<std::string, Known> known_;
    /// for a read that is under way, by path
    std::unordered_map<std::string, std::vector<Proof>> reading_;
    /// for the next write, in order
    std::vector<Proof> waiting_;
};

} // namespace tenure::zookeeper
