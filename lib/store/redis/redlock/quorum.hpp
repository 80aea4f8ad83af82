// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <store/redis/backend.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redlock
{

/** The servers that hold claims together: what a majority of them grants is granted. Shared by the operations under
 * way; belongs to the strand. */
class Quorum
{
public:
    using Node = std::shared_ptr<redis::NodeBackend>;

    Quorum(std::shared_ptr<Runtime> runtime, std::vector<Node> nodes)
        : runtime_(std::move(runtime))
        , nodes_(std::move(nodes))
    {
    }

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] std::size_t majority() const noexcept { return nodes_.size() / 2 + 1; }
    /** So many nodes can keep all others from being a majority. */
    [[nodiscard]] std::size_t veto() const noexcept { return nodes_.size() - majority() + 1; }
    [[nodiscard]] std::vector<Node> const& nodes() const noexcept { return nodes_; }

private:
    std::shared_ptr<Runtime> runtime_;
    std::vector<Node> nodes_;
};
using QuorumPtr = std::shared_ptr<Quorum const>;

/** The one key of the range at `index` as a range of its own; it has the channel of the whole range. */
[[nodiscard]] KeyRangePtr single_key(KeyRangePtr const& range, std::uint32_t index);

} // namespace tenure::redlock
