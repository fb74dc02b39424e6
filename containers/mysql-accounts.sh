# Read by the entrypoint of MySQL's image at the first start, when the volume is empty. It makes the
# account of the API instances, which reads and writes rows. MYSQL_USER, of the order workers, makes
# the tables.
password=$(</run/secrets/mysql-api-password)
password=${password//\\/\\\\}
password=${password//\'/\'\'}
docker_process_sql <<SQL
CREATE USER 'lockstep-api'@'%' IDENTIFIED BY '$password';
GRANT SELECT, INSERT, UPDATE, DELETE ON \`$MYSQL_DATABASE\`.* TO 'lockstep-api'@'%';
SQL
