// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Open requests of a ClientHandle: submission to the C client, and its callbacks.
#include "client_handle.hpp"

#include <utility>

namespace tenure::zookeeper
{

namespace
{

/// as a condition
constexpr std::int32_t any_version = -1;

[[nodiscard]] NodeStat read(Stat const& stat)
{
    return {stat.czxid, stat.version, stat.ephemeralOwner};
}

} // namespace

/** Callbacks of the C client for a response, inside a call into it. */
struct ClientHandle::Pending::Callbacks {
    static void finish(void const* data, Response response)
    {
        auto const* const pending = static_cast<Pending const*>(data);
        pending->owner->finish(pending->id, std::move(response));
    }
    static void on_void(int code, void const* data) { finish(data, {code}); }
    static void on_stat(int code, Stat const* stat, void const* data)
    {
        Response response{code};
        if (code == ZOK && stat != nullptr)
            response.stat = read(*stat);
        finish(data, std::move(response));
    }
    static void on_created(int code, char const* path, Stat const* stat, void const* data)
    {
        Response response{code};
        if (code == ZOK && stat != nullptr && path != nullptr) {
            response.stat = read(*stat);
            response.path = path;
        }
        finish(data, std::move(response));
    }
    static void on_synced(int code, char const*, void const* data) { finish(data, {code}); }
    static void on_data(int code, char const* value, int size, Stat const* stat, void const* data)
    {
        Response response{code};
        if (code == ZOK && stat != nullptr) {
            response.stat = read(*stat);
            if (value != nullptr && size > 0)
                response.data.assign(value, static_cast<std::size_t>(size));
        }
        finish(data, std::move(response));
    }
    static void on_children(int code, String_vector const* names, void const* data)
    {
        Response response{code};
        if (code == ZOK && names != nullptr)
            response.children.assign(names->data, names->data + names->count);
        finish(data, std::move(response));
    }
    /** The index of the part that failed, or the number of parts if the server did not report one. */
    static std::size_t failed_part(Pending const& pending)
    {
        // parts before the failed one would have succeeded, and later parts were not tried
        auto const& results = pending.results;
        std::size_t failed = 0;
        while (failed < pending.parts && results[failed].err == ZOK)
            ++failed;
        bool const answered =
            failed + 1 >= pending.parts || results[failed + 1].err == static_cast<int>(ZRUNTIMEINCONSISTENCY);
        return answered ? failed : pending.parts;
    }
    static void on_transaction(int code, void const* data)
    {
        auto const& pending = *static_cast<Pending const*>(data);
        Response response{code};
        response.of_generation = code != ZOK && failed_part(pending) == pending.generation_part;
        if (code == ZOK && pending.request.kind == Request::Kind::claim) {
            response.stat = read(pending.node);
            if (pending.generation.version != any_version)
                response.generation_version = pending.generation.version;
        }
        finish(data, std::move(response));
    }
};

int ClientHandle::Pending::submit_transaction(zhandle_t* handle, ACL_vector const* acl)
{
    using Kind = Request::Kind;
    auto const* const path = request.path.c_str();
    auto const* const data = request.data.data();
    auto const size = static_cast<int>(request.data.size());
    auto const* const of_generation = request.generation.c_str();
    if (request.kind == Kind::claim) {
        parts = 3;
        generation_part = 2;
        ::zoo_create_op_init(&operations[0], path, "", 0, acl, ZOO_EPHEMERAL, nullptr, 0);
        ::zoo_set_op_init(&operations[1], path, data, size, claimed_version - 1, &node);
        ::zoo_set_op_init(&operations[2], of_generation, "", 0, any_version, &generation);
    } else {
        parts = 2;
        generation_part = 0;
        ::zoo_check_op_init(&operations[0], of_generation, *request.generation_version);
        if (request.kind == Kind::set)
            ::zoo_set_op_init(&operations[1], path, data, size, request.version, nullptr);
        else
            ::zoo_delete_op_init(&operations[1], path, request.version);
    }
    return ::zoo_amulti(
        handle, static_cast<int>(parts), operations.data(), results.data(), &Callbacks::on_transaction, this);
}

int ClientHandle::Pending::submit(zhandle_t* handle, ACL_vector const* acl)
{
    using Kind = Request::Kind;
    auto const* const path = request.path.c_str();
    auto const* const data = request.data.data();
    auto const size = static_cast<int>(request.data.size());
    auto const create = [&](int mode) {
        return ::zoo_acreate2(handle, path, data, size, acl, mode, &Callbacks::on_created, this);
    };
    switch (request.kind) {
    case Kind::create_place:
        return create(ZOO_EPHEMERAL_SEQUENTIAL);
    case Kind::create_container:
        return create(ZOO_CONTAINER);
    case Kind::create_persistent:
        return create(ZOO_PERSISTENT);
    case Kind::get:
        return ::zoo_aget(handle, path, request.watch ? 1 : 0, &Callbacks::on_data, this);
    case Kind::exists:
        return ::zoo_aexists(handle, path, request.watch ? 1 : 0, &Callbacks::on_stat, this);
    case Kind::children:
        return ::zoo_aget_children(handle, path, request.watch ? 1 : 0, &Callbacks::on_children, this);
    case Kind::claim:
        return submit_transaction(handle, acl);
    case Kind::set:
        if (request.generation_version)
            return submit_transaction(handle, acl);
        return ::zoo_aset(handle, path, data, size, request.version, &Callbacks::on_stat, this);
    case Kind::remove:
        if (request.generation_version)
            return submit_transaction(handle, acl);
        return ::zoo_adelete(handle, path, request.version, &Callbacks::on_void, this);
    case Kind::check:
        ::zoo_check_op_init(&operations[0], path, any_version);
        return ::zoo_amulti(handle, 1, operations.data(), results.data(), &Callbacks::on_void, this);
    case Kind::sync:
        return ::zoo_async(handle, path, &Callbacks::on_synced, this);
    case Kind::unwatch:
        // the function itself is passed and called, although the parameter has the type of a pointer to it
        return ::zoo_aremove_all_watches(
            handle, path, ZWATCHTYPE_ANY, 0, reinterpret_cast<void_completion_t*>(&Callbacks::on_void), this);
    }
    return ZBADARGUMENTS;
}

} // namespace tenure::zookeeper
