// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/client.hpp"
#include "store/etcd/leases/leases.hpp"
#include "store/etcd/leases/owners.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace tenure::etcd
{

/** The cluster as the operations see it. Shared by those under way; everything belongs to the strand. */
struct Node {
    explicit Node(ClientPtr through)
        : client(std::move(through))
        , leases(std::make_shared<Leases>(client))
    {
    }

    [[nodiscard]] Runtime& runtime() const noexcept { return client->runtime(); }
    [[nodiscard]] std::string where() const { return client->where(); }

    ClientPtr client;
    std::shared_ptr<Leases> leases;
    Owners owners;
    /// prefix and index of the keys that claims of this store are just taking: the others take another one
    std::set<std::pair<std::string, std::uint32_t>> being_taken;
};
using NodePtr = std::shared_ptr<Node>;

} // namespace tenure::etcd
